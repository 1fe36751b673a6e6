"""The small files at the root of a data directory, and the one that names a partition's topic.

Text forms only, byte for byte as Kafka writes them, plus functions that read and write them on a Disk.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from klamm.base.ids import TopicPartition, Uuid
from klamm.log.disk import Disk

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
PARTITION_METADATA = "partition.metadata"

_VERSION = 0


class BadCheckpoint(Exception):
    """A file that is there but says something else than its name promises."""


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint; nothing for a file that is absent or empty, as it is before the first writing."""
    text = _read_text(disk, path)
    return parse_offsets(text, path) if text else {}


def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    disk.write_atomic(path, offsets_text(offsets).encode())


def offsets_text(offsets: Mapping[TopicPartition, int]) -> str:
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in offsets.items()]
    return f"{_VERSION}\n{len(lines)}\n{''.join(lines)}"


def parse_offsets(text: str, path: str = "checkpoint") -> dict[TopicPartition, int]:
    try:
        version, count, *lines = text.rstrip("\n").split("\n")
        offsets = {}
        for line in lines:
            topic, partition, offset = line.split(" ")
            offsets[TopicPartition(topic, int(partition))] = int(offset)
        if int(version) != _VERSION or int(count) != len(lines):
            raise ValueError(f"version {version} with {count} entries")
    except ValueError as e:
        raise BadCheckpoint(f"{path}: {e}") from None
    return offsets


# Who this directory belongs to ------------------------------------------------------------------


def read_properties(disk: Disk, path: str) -> dict[str, str] | None:
    """meta.properties as names and texts; None if the directory was never formatted."""
    text = _read_text(disk, path)
    if text is None:
        return None
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
    return {name.strip(): value.strip() for name, _, value in pairs}


# The clean-shutdown marker ----------------------------------------------------------------------


def take_clean_shutdown(disk: Disk, directory: str) -> tuple[bool, int]:
    """Was the last stop clean, and with which broker epoch (-1 if unknown)? The marker is gone afterwards."""
    path = f"{directory}/{CLEAN_SHUTDOWN}"
    text = _read_text(disk, path)
    if text is None:
        return False, -1
    # Gone for good before anything is appended: a crash from here on is no clean stop.
    disk.remove(path)
    disk.fsync_dir(directory)
    try:
        return True, int(json.loads(text)["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return True, -1


def write_clean_shutdown(disk: Disk, directory: str, broker_epoch: int) -> None:
    content = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
    disk.write_atomic(f"{directory}/{CLEAN_SHUTDOWN}", content.encode())


# The topic of a partition directory -------------------------------------------------------------


def read_topic_id(disk: Disk, directory: str) -> Uuid | None:
    """None if the file is absent, or a crash left only a part of it: metadata knows the id as well."""
    text = _read_text(disk, f"{directory}/{PARTITION_METADATA}")
    version, _, topic_id = (text or "").partition("\n")
    try:
        return Uuid.parse(topic_id.removeprefix("topic_id: ").strip()) if version else None
    except ValueError:
        return None


def write_topic_id(disk: Disk, directory: str, topic_id: Uuid) -> None:
    content = f"version: 0\ntopic_id: {topic_id}"
    disk.write(f"{directory}/{PARTITION_METADATA}", content.encode())


def _read_text(disk: Disk, path: str) -> str | None:
    try:
        return disk.read(path).decode()
    except FileNotFoundError:
        return None
