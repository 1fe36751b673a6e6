"""Which segments are cleaned into one."""

from klamm.base.settings.topic import TopicSettings
from klamm.log.compaction import grouping
from klamm.log.segment import INDEX, TIME_INDEX, Segment
from klamm.testing.disk import MemoryDisk
from log.compaction.rounds import compacted
from log.samples import DIRECTORY


def grouped(
    sizes: list[int],
    settings: TopicSettings,
    *,
    bases: list[int] | None = None,
    end: int | None = None,
    index_bytes: int = 0,
) -> list[list[int]]:
    """The bases of the groups of segments with these sizes; each has ten offsets unless told otherwise."""
    disk = MemoryDisk()
    disk.mkdir(DIRECTORY)
    bases = bases or [10 * number for number in range(len(sizes))]
    segments = [
        Segment(disk, DIRECTORY, base, size) for base, size in zip(bases, sizes, strict=True)
    ]
    for segment in segments:
        disk.write(segment.path(INDEX), bytes(index_bytes))
        disk.write(segment.path(TIME_INDEX), bytes(index_bytes))
    ends = [*bases[1:], end or bases[-1] + 10]
    pairs = list(zip(segments, ends, strict=True))
    return [[segment.base_offset for segment in group] for group in grouping.group(pairs, settings)]


def test_neighbours_are_joined_up_to_the_size_of_a_segment() -> None:
    assert grouped([40, 60, 1, 99, 100], compacted(segment_bytes=100)) == [[0, 10], [20, 30], [40]]


def test_segment_that_is_too_large_stays_alone() -> None:
    assert grouped([500, 10, 10], compacted(segment_bytes=100)) == [[0], [10, 20]]


def test_indexes_must_fit_as_well() -> None:
    settings = compacted(segment_bytes=1000, segment_index_bytes=48)

    assert grouped([1, 1, 1], settings, index_bytes=24) == [[0, 10], [20]]


def test_offsets_must_fit_into_the_index() -> None:
    far = 1 << 31
    settings = compacted(segment_bytes=1000)

    assert grouped([1, 1], settings, bases=[0, 10], end=far) == [[0, 10]]
    assert grouped([1, 1], settings, bases=[0, 10], end=far + 1) == [[0], [10]]


def test_empty_segment_is_joined_however_far_away() -> None:
    bases = [0, 1 << 40]

    assert grouped([1, 0], compacted(segment_bytes=1000), bases=bases) == [bases]


def test_so_many_segments_that_a_swap_would_take_long_are_not_joined_at_once() -> None:
    groups = grouped([1] * 38, compacted(segment_bytes=1000))

    assert [len(group) for group in groups] == [16, 16, 6]


def test_nothing_gives_no_groups() -> None:
    assert grouping.group([], compacted()) == []
