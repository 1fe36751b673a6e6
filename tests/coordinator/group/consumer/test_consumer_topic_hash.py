"""The hash of a group's topics is the number that Kafka 4.3.1 writes, on any broker."""

from __future__ import annotations

import pytest

from klamm.base.ids import Uuid
from klamm.coordinator.group.consumer.topic_hash import TopicHashes
from klamm.coordinator.group.consumer.xxh3 import xxh3_64
from klamm.metadata.image import BrokerImage, ClusterImage, PartitionImage, TopicImage

# Computed by hash4j 0.22, which Kafka uses: the hash of n bytes, of which the i-th is 7 * i + n.
KNOWN = [
    (0, 0x2D06800538D394C2),
    (1, 0xE12EF9D2EB86CEEB),
    (2, 0x33B0814D4F061D86),
    (3, 0xA9088DDA485B481C),
    (4, 0x57648C318A7A307E),
    (5, 0x239BB6B88222271D),
    (8, 0xB0FB3E3C3F94990A),
    (9, 0x8ACA5CB309437C2E),
    (15, 0xC14E5D6729B9E68C),
    (16, 0x2BD926D88792965A),
    (17, 0x621F018AAD19B14A),
    (31, 0x1C80DB9A3E8BA043),
    (32, 0x8911535E799E4D99),
    (33, 0xB6D8B523DB9B284C),
    (64, 0x1B1BF114C7371F1B),
    (65, 0xF0037F8AC0441CC4),
    (96, 0xCFB21E0D09D8EF29),
    (97, 0xE1415CA7902A74DA),
    (127, 0xEECE8F95570595F1),
    (128, 0xE9549AF9A74093E6),
    (129, 0xB54AD1CD8A4C84B9),
    (144, 0x3F50CA07E0DCDE52),
    (160, 0x898DF912F54AA5C2),
    (239, 0x318817637CD16359),
    (240, 0x3E136902EC966624),
    (241, 0xBD7D29B6BA966D6A),
    (256, 0xFF5A1CEFADE75BB9),
    (259, 0xD71A4C2B9971824F),
    (555, 0x562EE007A2B4451D),
    (999, 0xEC4CD67F0A3EEB62),
    (1036, 0x04936C9D51A34B0A),
    (1073, 0x764BCFCD08458800),
    (2035, 0x7626327DD7944657),
    (2072, 0x729E19820E73E4F8),
    (2997, 0x96734686B4EE0F39),
]


@pytest.mark.parametrize(("size", "expected"), KNOWN)
def test_xxh3_is_that_of_others(size: int, expected: int) -> None:
    assert xxh3_64(bytes((7 * i + size) % 256 for i in range(size))) == expected


def cluster(*topics: TopicImage, rack: str | None = None) -> ClusterImage:
    incarnation = Uuid(bytes(16))
    return ClusterImage(
        topics_by_name={each.name: each for each in topics},
        brokers={n: BrokerImage(n, 0, incarnation, rack=rack) for n in (1, 2)},
    )


def topic(name: str, topic_id: str, count: int, replicas: tuple[int, ...] = (1,)) -> TopicImage:
    partition = PartitionImage(replicas, replicas, 1, 0, 0)
    return TopicImage(name, Uuid.parse(topic_id), (partition,) * count)


# The hashes below stand in logs that a Kafka 4.3.1 wrote.
T1 = topic("t1", "pat9MRb7RyeQjt0_eRZ_KQ", 3)
T2 = topic("t2", "SS4eIZ2GS7-6gEdPKoGlaw", 2)
ONE = topic("one", "Kn8ShhvhSnOxl2SV587lIw", 1, (1, 2))
MANY = topic("many.partitions", "BgkrvsMxRAuKhIZj2UWHSA", 60)
RACK = "rack-\u00c3\u00a4"


@pytest.mark.parametrize(
    ("names", "image", "expected"),
    [
        (["t2", "t1"], cluster(T1, T2), -5209413296401586227),
        (["one"], cluster(ONE, MANY, rack=RACK), 4283346314315014705),
        (["many.partitions"], cluster(ONE, MANY, rack=RACK), 2909947425924364364),
        (["one", "many.partitions", "missing"], cluster(ONE, MANY, rack=RACK), 2009189300584717700),
    ],
    ids=["without racks", "two replicas in a rack", "many partitions", "with one that is missing"],
)
def test_a_group_has_the_hash_that_kafka_gives_it(
    names: list[str], image: ClusterImage, expected: int
) -> None:
    assert TopicHashes().of_group(names, image) == expected


def test_no_topics_have_no_hash() -> None:
    assert TopicHashes().of_group(["missing"], ClusterImage()) == 0


def test_a_topic_that_changed_is_hashed_again() -> None:
    hashes = TopicHashes()
    before = hashes.of_group(["t1"], cluster(T1))
    grown = TopicImage(T1.name, T1.topic_id, T1.partitions * 2)

    after = hashes.of_group(["t1"], cluster(grown))
    hashes.forget_missing(cluster())

    assert before != after
    assert hashes.of_group(["t1"], cluster(T1)) == before
