"""What administrators ask for in the middle of it: other leaders, other replicas, other voters."""

from __future__ import annotations

from contextlib import suppress
from random import Random

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import Admin
from klamm.client.cluster import Cluster, ClusterSettings
from klamm.protocol.messages.add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    Listener,
)
from klamm.protocol.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from klamm.raft.voters import Voter
from klamm.testing.cluster import CLUSTER_ID
from klamm.testing.scenarios.many_nodes.trouble import Trouble

_PATIENCE = 30.0


async def elect(trouble: Trouble, rng: Random) -> None:
    """Leaders go back to the replicas that should lead."""

    async def ask(admin: Admin) -> None:
        await admin.partitions.elect_leaders()

    trouble.tell("preferred leaders are to lead")
    with suppress(ApiError, TimeoutError):
        await trouble.asks(ask, _PATIENCE)


async def reassign(trouble: Trouble, rng: Random) -> None:
    """Some partitions move to other brokers, or get others as their first, or a move is taken back."""
    brokers = trouble.cluster.brokers
    topics = [*trouble.stage.topics.items(), ("__consumer_offsets", 2), ("__transaction_state", 2)]
    wanted: dict[TopicPartition, list[int] | None] = {}
    for name, count in rng.sample(topics, rng.randint(1, len(topics))):
        place = TopicPartition(name, rng.randrange(count))
        size = rng.choice((2, 3, 3)) if len(brokers) == 3 else 3
        wanted[place] = rng.sample(brokers, size) if rng.random() < 0.85 else None

    async def ask(admin: Admin) -> None:
        await admin.partitions.reassign(wanted)

    moves = ", ".join(f"{place} to {where or 'where it was'}" for place, where in wanted.items())
    trouble.tell(f"to be moved: {moves}")
    with suppress(ApiError, TimeoutError):
        await trouble.asks(ask, _PATIENCE)


async def change_voters(trouble: Trouble, rng: Random) -> None:
    """One controller more, or one less, of a quorum whose voters stand in the log."""
    there = [each for each in trouble.ready if each in trouble.cluster.controllers]
    if not there:
        return
    raft = trouble.cluster.nodes[there[0]].quorum.raft.raft
    others = [each for each in there if each not in raft.voters.ids]
    request: object
    answer: type[AddRaftVoterResponse | RemoveRaftVoterResponse]
    if others and rng.random() < 0.7:
        joins = rng.choice(others)
        directory = trouble.cluster.nodes[joins].quorum.directory_id
        request = _adding(trouble.cluster.voter(joins)._replace(directory=directory))
        answer = AddRaftVoterResponse
        trouble.tell(f"node {joins} is to vote")
    elif len(raft.voters.voters) > 2:
        leaves = rng.choice(raft.voters.voters)
        request = RemoveRaftVoterRequest(
            cluster_id=CLUSTER_ID, voter_id=leaves.id, voter_directory_id=leaves.directory
        )
        answer = RemoveRaftVoterResponse
        trouble.tell(f"node {leaves.id} is to vote no more")
    else:
        return

    async def ask(admin: Admin) -> None:
        settings = ClusterSettings(client_id="elector")
        cluster = Cluster(trouble.stage.bootstrap, settings, trouble.stage.enters("elector"))
        await cluster.ask_any(request, answer)
        cluster.close()

    with suppress(ApiError, TimeoutError):
        await trouble.asks(ask, _PATIENCE)


def _adding(voter: Voter) -> AddRaftVoterRequest:
    return AddRaftVoterRequest(
        cluster_id=CLUSTER_ID,
        timeout_ms=10_000,
        voter_id=voter.id,
        voter_directory_id=voter.directory,
        listeners=[Listener(name=name, host=at.host, port=at.port) for name, at in voter.endpoints],
    )
