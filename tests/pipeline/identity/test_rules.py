"""When a topic is another than the one that was read, and what is said then."""

import pytest

from klamm.pipeline.identity.rules import (
    Change,
    Identity,
    Topic,
    changes,
    from_plain,
    is_plainly_the_same,
    learned,
    only,
    sentence,
    to_plain,
)

BEFORE = Topic("id-1", 3)
AGAIN = Topic("id-2", 3)
KNOWN = Identity("here", {"clicks": BEFORE})


def with_clicks(topic: Topic, cluster: str | None = "here") -> Identity:
    return Identity(cluster, {"clicks": topic})


@pytest.mark.parametrize(
    "now",
    [
        with_clicks(BEFORE),
        with_clicks(BEFORE, cluster=None),
        # More partitions, and a topic that is gone, are Spark's to deal with.
        with_clicks(Topic("id-1", 5)),
        Identity("here", {}),
        # The same topic under a cluster with another id: a copy with all its offsets.
        with_clicks(BEFORE, cluster="elsewhere"),
        # A broker that was given topic ids since.
        with_clicks(Topic(None, 3)),
    ],
)
def test_same_topic_is_no_change(now: Identity) -> None:
    assert changes(KNOWN, now, {"clicks"}) == []


@pytest.mark.parametrize(
    "now",
    [
        with_clicks(AGAIN),
        with_clicks(AGAIN, cluster=None),
        with_clicks(AGAIN, cluster="elsewhere"),
        with_clicks(Topic("id-2", 5)),
    ],
)
def test_topic_with_another_id_is_another(now: Identity) -> None:
    assert changes(KNOWN, now, {"clicks"}) == [Change("clicks", BEFORE, now.topics["clicks"])]


@pytest.mark.parametrize(
    "now", [with_clicks(Topic(None, 2)), with_clicks(Topic(None, 3), cluster="elsewhere")]
)
def test_without_ids_fewer_partitions_or_another_cluster_tell(now: Identity) -> None:
    known = with_clicks(Topic(None, 3))

    assert [change.topic for change in changes(known, now, {"clicks"})] == ["clicks"]


@pytest.mark.parametrize(
    ("now", "is_plain"),
    [
        (with_clicks(BEFORE, cluster=None), True),
        (Identity(None, {"clicks": BEFORE, "new": Topic(None, 1)}), True),
        (with_clicks(AGAIN), False),
        (with_clicks(Topic(None, 3)), False),
        (Identity("here", {}), False),
    ],
)
def test_ids_alone_tell_of_most_topics_that_they_are_the_same(
    now: Identity, is_plain: bool
) -> None:
    assert is_plainly_the_same(KNOWN, now) is is_plain


def test_topic_without_a_position_may_be_any() -> None:
    assert changes(KNOWN, with_clicks(AGAIN), set()) == []


def test_topics_that_are_gone_stay_known_and_those_that_are_new_become_so() -> None:
    now = Identity(None, {"orders": AGAIN})

    assert learned(KNOWN, now) == Identity("here", {"clicks": BEFORE, "orders": AGAIN})
    assert only(learned(KNOWN, now), {"orders"}) == Identity("here", {"orders": AGAIN})


def test_sentence_says_what_changed_and_the_two_ways_on() -> None:
    now = with_clicks(AGAIN)

    told = sentence(changes(KNOWN, now, {"clicks"}), KNOWN, now, pipeline="stats", file="s.yaml")

    assert told == (
        "topic clicks was deleted and made again since the pipeline has read it (its id was id-1, now it is id-2), so the "
        "offsets in the checkpoint mean other records: `klamm pipeline replay s.yaml --from earliest --execute` reads what "
        "is there now from its beginning, `klamm pipeline accept stats` shows what would be left out by going on at the "
        "old offsets, and does so with --execute"
    )


@pytest.mark.parametrize(
    ("known", "now", "words"),
    [
        (
            with_clicks(Topic(None, 3)),
            with_clicks(Topic(None, 2)),
            "topic clicks was deleted and made again since the pipeline has read it (it had 3 partitions, now it has 2)",
        ),
        (
            KNOWN,
            with_clicks(AGAIN, cluster="elsewhere"),
            "the cluster is another one than the pipeline has read (its id was here, now it is elsewhere), and its topic "
            "clicks is not what was read",
        ),
        (
            Identity("here", {"a": BEFORE, "b": BEFORE}),
            Identity("here", {"a": AGAIN, "b": AGAIN}),
            "topics a, b were deleted and made again since the pipeline has read them",
        ),
    ],
)
def test_sentence_names_the_sign(known: Identity, now: Identity, words: str) -> None:
    found = changes(known, now, known.topics)

    assert sentence(found, known, now, pipeline="p", file=None).startswith(words)


def test_identity_is_kept_and_read_as_it_was() -> None:
    known = Identity("here", {"clicks": BEFORE, "old": Topic(None, 1)})

    assert from_plain(to_plain(known)) == known
