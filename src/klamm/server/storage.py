"""Data directories: formatting them as Kafka's storage tool does, telling whose they are, and locking them.

A directory is formatted when it has a meta.properties; bootstrap.checkpoint beside it holds the records a new
cluster begins with. Every refusal is one sentence that says which directory and what to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from posixpath import abspath, dirname
from typing import NamedTuple, Self

from klamm.base.chance import Chance, random_uuid
from klamm.base.clock import Ms
from klamm.base.ids import OffsetAndEpoch, Uuid
from klamm.base.settings.broker import Settings
from klamm.log import checkpoints
from klamm.log.checkpoints import META_PROPERTIES
from klamm.log.disk import Disk, Lock
from klamm.metadata.features import LATEST, METADATA_VERSION, release_of
from klamm.metadata.records.configs import FeatureLevelRecord
from klamm.metadata.snapshot import file_name, write_records
from klamm.protocol.messages.control import KRaftVersionRecord
from klamm.raft.messages import Address
from klamm.raft.voters import Voter, VoterSet
from klamm.server.world.ports import World
from klamm.storage.log_directories import CHECKPOINTS, METADATA_LOG

BOOTSTRAP = "bootstrap.checkpoint"
LOCK = ".lock"
_LOCAL = ("localhost", "127.0.0.1", "::1")
_VERSION = "1"
_CLUSTER_ID = re.compile(r"[!-\[\]-~]+")
# What may lie in a directory that klamm takes for empty: pipelines keep their checkpoints and tables below the default
# one. The others but the first two are left by a format that was killed.
_HARMLESS = {LOCK, "lost+found", BOOTSTRAP, f"{BOOTSTRAP}.tmp", f"{META_PROPERTIES}.tmp"}
_HARMLESS |= {"pipelines", "lake"}


class StorageError(Exception):
    """A directory cannot be used as it is. The message is for the operator."""


class UnusableDirectory(StorageError):
    """The disk says no. Where there are other directories the node can do without this one."""

    def __init__(self, path: str, error: OSError) -> None:
        super().__init__(f"{path} cannot be used: {error.strerror or error}.")
        self.error = error


@dataclass(frozen=True, slots=True)
class Paths:
    """Where a node keeps its data, and the directory, one of them or not, that has the metadata log."""

    data: tuple[str, ...]
    metadata: str

    @classmethod
    def of(cls, settings: Settings) -> Self:
        data = settings.log.directories
        return cls(data, settings.quorum.metadata_log_dir or data[0])

    @property
    def all(self) -> tuple[str, ...]:
        return self.data if self.metadata in self.data else (self.metadata, *self.data)


@dataclass(frozen=True, slots=True)
class Identity:
    """What meta.properties says."""

    cluster_id: str
    node_id: int
    directory_id: Uuid


class DataDirectory(NamedTuple):
    path: str
    id: Uuid


class DataDirectories:
    """The directories of a running node: formatted, its own, and locked until they are closed."""

    __slots__ = (
        "_locks",
        "all",
        "cluster_id",
        "metadata",
        "node_id",
        "previous_broker_epoch",
        "unusable",
    )

    def __init__(
        self, cluster_id: str, node_id: int, data: Sequence[DataDirectory], metadata: DataDirectory
    ) -> None:
        self.cluster_id = cluster_id
        self.node_id = node_id
        # Those that hold partitions; the metadata log may have one to itself.
        self.all = tuple(data)
        self.metadata = metadata
        # The epoch in which the broker last stopped cleanly, -1 if it crashed or never ran.
        self.previous_broker_epoch = -1
        # Those whose disks said no at the start, and what they said: the node goes on without them.
        self.unusable: dict[str, OSError] = {}
        self._locks: list[Lock] = []

    @classmethod
    def open(cls, world: World, settings: Settings) -> Self:
        """Lock them, format those that are empty, and see whose they are."""
        disk = world.disk
        locks: list[Lock] = []
        try:
            paths, unusable = _usable(disk, Paths.of(settings), locks)
            node_id = settings.node.node_id
            now = world.clock.wall()
            if is_alone(settings):
                ensure_formatted(
                    disk,
                    paths,
                    node_id=node_id,
                    chance=world.chance,
                    now=now,
                    voters=own_quorum(settings, world.chance),
                )
            found = load(disk, paths, node_id=node_id)
            _check_metadata_place(disk, paths)
        except BaseException:
            _unlock(locks)
            raise
        data = [DataDirectory(path, found[path].directory_id) for path in paths.data]
        metadata = DataDirectory(paths.metadata, found[paths.metadata].directory_id)
        directories = cls(found[paths.metadata].cluster_id, node_id, data, metadata)
        directories.previous_broker_epoch = _previous_broker_epoch(disk, paths.data)
        directories.unusable = unusable
        directories._locks = locks
        return directories

    def close(self) -> None:
        _unlock(self._locks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_alone(settings: Settings) -> bool:
    """The node is the whole quorum, so the cluster may be its own: others must be told the cluster that they join."""
    quorum = settings.quorum
    if not settings.node.is_controller or len(quorum.voters) > 1:
        return False
    if quorum.voters or not quorum.bootstrap_servers:
        return True
    if len(quorum.bootstrap_servers) != 1:
        return False
    host, _, port = quorum.bootstrap_servers[0].rpartition(":")
    return any(
        each.port in (0, int(port)) and _is_this_host(host, each.host)
        for each in settings.listeners.for_controllers()
    )


def _is_this_host(name: str, bound: str) -> bool:
    """Never by the port alone: controllers on other machines have the same."""
    name = name.removeprefix("[").removesuffix("]")
    return name == bound or (name in _LOCAL and bound in ("", "0.0.0.0", "::", *_LOCAL))


def own_quorum(settings: Settings, chance: Chance) -> VoterSet | None:
    """This controller as the only voter, where the voters are not in the settings: as `--standalone` says."""
    listeners = settings.listeners.for_controllers()
    if settings.quorum.voters or not settings.quorum.bootstrap_servers or not listeners:
        return None
    first = listeners[0]
    address = Address(first.host or "localhost", first.port)
    own = Voter(settings.node.node_id, random_uuid(chance), ((first.name, address),))
    return VoterSet((own,))


def format_directories(
    disk: Disk,
    directories: Paths,
    *,
    cluster_id: str,
    node_id: int,
    chance: Chance,
    now: Ms,
    ignore_formatted: bool = False,
    features: Mapping[str, int] = LATEST,
    voters: VoterSet | None = None,
    records: Sequence[object] = (),
) -> list[str]:
    """Format what is not formatted yet; gives the lines that Kafka's tool prints about it.

    `voters` are those that the log of a new cluster begins with; None where others, or the settings, tell. `records` are
    what the cluster knows from the start beside its features.
    """
    if not cluster_id.strip():
        raise StorageError("The cluster id must not be empty.")
    # Deviation: Kafka takes any text and escapes it in the file, as Java does.
    if not _CLUSTER_ID.fullmatch(cluster_id):
        raise StorageError(
            f"{cluster_id!r} cannot be a cluster id: it has other signs than those of ASCII, or a space or a backslash. "
            "`klamm storage random-uuid` makes one."
        )
    found = {path: identity for path in directories.all if (identity := read_identity(disk, path))}
    for path, identity in found.items():
        if not ignore_formatted:
            raise StorageError(
                f"Log directory {path} is already formatted. "
                "Use --ignore-formatted to ignore this directory and format the others."
            )
        _check(path, identity, cluster_id=cluster_id, node_id=node_id)
    missing = [path for path in directories.all if path not in found]
    if not missing:
        return ["All of the log directories are already formatted."]
    taken = {identity.directory_id for identity in found.values()}
    release = release_of(features[METADATA_VERSION])
    lines = []
    for path in missing:
        is_metadata = path == directories.metadata
        own = voters.find(node_id) if voters is not None and is_metadata else None
        kind = _kind(
            is_metadata=is_metadata, is_dynamic=voters is not None, is_voter=own is not None
        )
        lines.append(f"Formatting {kind} directory {path} with metadata.version {release}.")
        directory_id = own.directory if own is not None else random_uuid(chance)
        while directory_id in taken:
            directory_id = random_uuid(chance)
        taken.add(directory_id)
        identity = Identity(cluster_id, node_id, directory_id)
        beginning = bootstrap_checkpoint(features, now, records)
        _format(disk, path, identity, beginning, features, now, voters if is_metadata else None)
    return lines


def ensure_formatted(
    disk: Disk,
    directories: Paths,
    *,
    node_id: int,
    chance: Chance,
    now: Ms,
    voters: VoterSet | None = None,
) -> None:
    """For `klamm serve`: empty directories are formatted on the spot, with a cluster id of their own if all are."""
    found = {path: identity for path in directories.all if (identity := read_identity(disk, path))}
    for path in directories.all:
        if path not in found and disk.exists(path) and set(disk.listdir(path)) - _HARMLESS:
            raise StorageError(
                f"{path} is not empty and has no {META_PROPERTIES}: it is not a data directory. "
                "Choose another one, or empty it."
            )
    if directories.metadata not in found:
        _check_metadata_place(disk, directories)
    if len(found) < len(directories.all):
        known = next(iter(found.values()), None)
        cluster_id = known.cluster_id if known else str(random_uuid(chance))
        format_directories(
            disk,
            directories,
            cluster_id=cluster_id,
            node_id=node_id,
            chance=chance,
            now=now,
            ignore_formatted=True,
            voters=None if directories.metadata in found else voters,
        )


def load(disk: Disk, directories: Paths, *, node_id: int) -> dict[str, Identity]:
    """Who each directory belongs to; they must all be this node's, and of one cluster."""
    found: dict[str, Identity] = {}
    for path in directories.all:
        identity = read_identity(disk, path)
        if identity is None:
            raise StorageError(
                f"No {META_PROPERTIES} in {path}: format it first with `klamm storage format`."
            )
        first = next(iter(found.values()), identity)
        _check(path, identity, cluster_id=first.cluster_id, node_id=node_id)
        if any(identity.directory_id == other.directory_id for other in found.values()):
            raise StorageError(
                f"{path}/{META_PROPERTIES} has the directory.id {identity.directory_id} of another "
                "directory: one of them is a copy."
            )
        found[path] = identity
    return found


def read_identity(disk: Disk, directory: str) -> Identity | None:
    """None when the directory is not formatted."""
    path = f"{directory}/{META_PROPERTIES}"
    if not disk.exists(path):
        return None
    properties = checkpoints.read_properties(disk, path) or {}
    try:
        if properties["version"] != _VERSION:
            raise StorageError(f"{path} has version {properties['version']}, expected {_VERSION}.")
        return Identity(
            properties["cluster.id"],
            int(properties["node.id"]),
            Uuid.parse(properties["directory.id"]),
        )
    except KeyError as missing:
        raise StorageError(f"{path} has no {missing.args[0]}.") from None
    except ValueError as error:
        raise StorageError(f"{path} is not readable: {error}.") from None


def _check(path: str, identity: Identity, *, cluster_id: str, node_id: int) -> None:
    where = f"in: {path}/{META_PROPERTIES}"
    if identity.cluster_id != cluster_id:
        raise StorageError(
            f"Invalid cluster.id {where}. Expected {cluster_id}, but read {identity.cluster_id}"
        )
    if identity.node_id != node_id:
        raise StorageError(
            f"Invalid node.id {where}. Expected {node_id}, but read {identity.node_id}"
        )


def _check_metadata_place(disk: Disk, paths: Paths) -> None:
    """A second metadata log would be a new, empty cluster on top of the old one's data."""
    for path in paths.data:
        if path != paths.metadata and disk.exists(f"{path}/{METADATA_LOG}"):
            raise StorageError(
                f"Found unexpected metadata location in data directory `{path}/{METADATA_LOG}` "
                f"(the configured metadata directory is {paths.metadata})."
            )


def _kind(*, is_metadata: bool, is_dynamic: bool, is_voter: bool) -> str:
    if not is_metadata:
        return "data"
    if not is_dynamic:
        return "metadata"
    return "dynamic metadata voter" if is_voter else "dynamic metadata"


def _format(
    disk: Disk,
    path: str,
    identity: Identity,
    beginning: bytes,
    features: Mapping[str, int],
    now: Ms,
    voters: VoterSet | None,
) -> None:
    try:
        _make_directory(disk, path)
        # meta.properties comes last: a directory that has it is formatted completely.
        disk.write_atomic(f"{path}/{BOOTSTRAP}", beginning)
        if voters is not None:
            _make_directory(disk, f"{path}/{METADATA_LOG}")
            first = f"{path}/{METADATA_LOG}/{file_name(OffsetAndEpoch(0, 0))}"
            disk.write_atomic(first, _voters_checkpoint(voters, features, now))
        disk.write_atomic(f"{path}/{META_PROPERTIES}", _meta_properties(identity, now))
    except OSError as error:
        raise StorageError(f"{path} cannot be formatted: {error.strerror}.") from error


def _make_directory(disk: Disk, path: str) -> None:
    """With its parents, and so that no power failure takes it away again."""
    missing = []
    at = abspath(path)
    while not disk.exists(at) and at != dirname(at):
        missing.append(at)
        at = dirname(at)
    disk.mkdir(path)
    for made in reversed(missing):
        disk.fsync_dir(dirname(made))


def bootstrap_checkpoint(
    features: Mapping[str, int], now: Ms, records: Sequence[object] = ()
) -> bytes:
    levels = [
        FeatureLevelRecord(name=name, feature_level=level) for name, level in features.items()
    ]
    return write_records(
        [*levels, *records],
        metadata_version=features[METADATA_VERSION],
        last_timestamp=0,
        now=now,
        epoch=0,
    )


def _voters_checkpoint(voters: VoterSet, features: Mapping[str, int], now: Ms) -> bytes:
    """The log's beginning, which says nothing but who votes."""
    return write_records(
        [],
        metadata_version=features[METADATA_VERSION],
        last_timestamp=now,
        now=now,
        epoch=0,
        voters=[KRaftVersionRecord(kraft_version=1), voters.to_record()],
    )


def _meta_properties(identity: Identity, now: Ms) -> bytes:
    lines = (
        "#",
        datetime.fromtimestamp(now / 1000, UTC).strftime("#%a %b %d %H:%M:%S UTC %Y"),
        f"node.id={identity.node_id}",
        f"directory.id={identity.directory_id}",
        f"version={_VERSION}",
        f"cluster.id={identity.cluster_id}",
        "",
    )
    return "\n".join(lines).encode()


def _usable(disk: Disk, paths: Paths, locks: list[Lock]) -> tuple[Paths, dict[str, OSError]]:
    """Lock them, and leave out those that cannot be; but never that of the metadata, nor all that hold partitions."""
    unusable: dict[str, OSError] = {}
    for path in paths.all:
        try:
            locks.append(_lock(disk, path))
        except UnusableDirectory as e:
            unusable[path] = e.error
            if path == paths.metadata or unusable.keys() >= set(paths.data):
                raise
    return Paths(
        tuple(each for each in paths.data if each not in unusable), paths.metadata
    ), unusable


def _lock(disk: Disk, directory: str) -> Lock:
    try:
        _make_directory(disk, directory)
        lock = disk.lock(f"{directory}/{LOCK}")
        # Whoever can be locked may still not be read.
        for file in (META_PROPERTIES, *CHECKPOINTS):
            if lock is not None and disk.exists(path := f"{directory}/{file}"):
                disk.read(path)
    except OSError as error:
        raise UnusableDirectory(directory, error) from error
    if lock is None:
        raise StorageError(
            f"{directory} is in use by another process, which holds its {LOCK} file."
        )
    return lock


def _unlock(locks: list[Lock]) -> None:
    for lock in locks:
        lock.close()
    locks.clear()


def _previous_broker_epoch(disk: Disk, directories: Sequence[str]) -> int:
    """From the marker of a clean stop, which stays: the log directories take it away when they open.

    Every directory must have one, and of the same epoch; else some of them may have lost records.
    """
    epochs = set()
    for directory in directories:
        path = f"{directory}/{checkpoints.CLEAN_SHUTDOWN}"
        try:
            epochs.add(int(json.loads(disk.read(path))["brokerEpoch"]))
        except (OSError, ValueError, KeyError, TypeError):
            return -1
    return epochs.pop() if len(epochs) == 1 else -1
