"""Some records of a topic, from a real broker."""

from collections.abc import Callable

from klamm.pipeline.adhoc.sampling import Looker

Topic = Callable[..., str]


def test_sample_has_both_ends_of_every_partition(bootstrap: str, topic: Topic) -> None:
    values = [b"%d" % number for number in range(60)]
    topic("sampled_ends", *values, partitions=3)

    with Looker(bootstrap) as looker:
        found = looker.sample("sampled_ends", per_end=2)
        again = looker.sample("sampled_ends", per_end=2)

    ends = [b"0", b"1", b"2", b"3", b"4", b"5", b"54", b"55", b"56", b"57", b"58", b"59"]
    assert sorted(found, key=int) == ends  # type: ignore[arg-type]
    assert sorted(again, key=int) == ends  # type: ignore[arg-type]


def test_sample_has_each_record_once(bootstrap: str, topic: Topic) -> None:
    topic("sampled_few", b"a", None, b"c", partitions=2)

    with Looker(bootstrap) as looker:
        assert sorted(map(repr, looker.sample("sampled_few"))) == ["None", "b'a'", "b'c'"]


def test_many_partitions_share_the_sample(bootstrap: str, topic: Topic) -> None:
    topic("sampled_wide", *[b"x"] * 1000, partitions=50)

    with Looker(bootstrap) as looker:
        # Ten from each end are all that a partition has.
        assert len(looker.sample("sampled_wide")) == 1000


def test_empty_topic_gives_nothing(bootstrap: str, topic: Topic) -> None:
    topic("sampled_empty")

    with Looker(bootstrap) as looker:
        assert looker.sample("sampled_empty") == []
