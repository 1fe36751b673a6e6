"""How a node's part in the quorum is put together from its settings and from what its directory says.

Voters stand in the settings (controller.quorum.voters), or, where the cluster was formatted with voters of its own, in the log.
A node that is not among them observes: brokers do, and controllers that are still to be added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from klamm.base.settings.broker import Settings
from klamm.base.settings.quorum import QuorumSettings
from klamm.metadata.image import Endpoint
from klamm.raft.messages import Address, ReplicaKey
from klamm.raft.node import RaftNode
from klamm.raft.timing import QuorumTiming
from klamm.raft.voters import VoterHistory, VoterSet
from klamm.server.loops.metadata_log import MetadataLog
from klamm.server.loops.raft_driver import RaftDriver
from klamm.server.peers.raft_channel import QuorumChannel
from klamm.server.peers.way import way_to_controllers
from klamm.server.quorum.requests import Terms
from klamm.server.quorum.snapshot_files import Received
from klamm.server.storage import DataDirectories, StorageError
from klamm.server.world.ports import World


def make_raft(
    world: World,
    settings: Settings,
    directories: DataDirectories,
    store: MetadataLog,
    endpoints: Sequence[Endpoint],
) -> RaftNode:
    """`endpoints`: where this node serves controllers, if it does."""
    node_id = directories.node_id
    election = store.read_election()
    static = _static_voters(settings, endpoints, election.voters)
    history = VoterHistory(static, store.load_voters())
    if not history.records.is_dynamic and election.voters:
        _check_voters(store, sorted(history.voters.ids), sorted(election.voters))
    return RaftNode(
        ReplicaKey(node_id, directories.metadata.id),
        state=election,
        log=store,
        log_end=store.end,
        history=history,
        draw=world.chance.randrange,
        stamp=world.clock.wall,
        timing=_timing(settings.quorum),
        address=Address(endpoints[0].host, endpoints[0].port) if endpoints else None,
    )


def connect(
    world: World,
    settings: Settings,
    directories: DataDirectories,
    driver: RaftDriver,
    on_snapshot: Callable[[Received], None],
) -> None:
    """Give the driver its way to the others."""
    quorum = settings.quorum
    names = settings.listeners.controller_names()
    terms = Terms(
        cluster_id=directories.cluster_id,
        listener=names[0] if names else "",
        fetch_max_bytes=quorum.fetch_max_bytes,
        snapshot_max_bytes=quorum.fetch_snapshot_max_bytes,
    )
    named = [_address(each) for each in quorum.bootstrap_servers]
    me = driver.raft.me

    def anybody() -> list[Address]:
        voters = [each.address for each in driver.raft.voters.others(me.id)]
        known = [*named, *(each for each in voters if each is not None and each not in named)]
        return [each for each in known if each != driver.raft.address]

    channel = QuorumChannel(
        world,
        terms,
        way=way_to_controllers(settings, world.chance),
        node_id=me.id,
        request_timeout_ms=quorum.request_timeout_ms,
        anybody=anybody,
        on_unreachable=driver.unreachable,
    )
    driver.connect(channel, terms, on_snapshot)


def _static_voters(
    settings: Settings, endpoints: Sequence[Endpoint], known: tuple[int, ...]
) -> VoterSet:
    quorum = settings.quorum
    names = settings.listeners.controller_names()
    listener = names[0] if names else ""
    node_id = settings.node.node_id
    if quorum.voters:
        parts = [each.partition("@") for each in quorum.voters]
        return VoterSet.static({int(number): _address(at) for number, _, at in parts}, listener)
    if quorum.bootstrap_servers and known != (node_id,):
        # The log tells, now or when it has come from the leader. One that this node has led alone has no voters in it.
        return VoterSet()
    own = Address(endpoints[0].host, endpoints[0].port) if endpoints else None
    return VoterSet.static({node_id: own}, listener)


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def _timing(quorum: QuorumSettings) -> QuorumTiming:
    return QuorumTiming(
        election_timeout=quorum.election_timeout_ms,
        fetch_timeout=quorum.fetch_timeout_ms,
        election_backoff_max=quorum.election_backoff_max_ms,
        retry_backoff=quorum.retry_backoff_ms,
    )


def _check_voters(store: MetadataLog, configured: list[int], found: list[int]) -> None:
    """Two sets of voters may elect a leader each."""
    # Deviation: Kafka takes the new ones without a word, also where the others still have the old ones.
    if configured != found:
        raise StorageError(
            f"The voters of {store.path} are {found}, but controller.quorum.voters names {configured}: name "
            "the same ones. To change them, stop all nodes and remove the file quorum-state of each."
        )
