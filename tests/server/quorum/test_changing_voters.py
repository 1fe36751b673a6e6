"""Voters that stand in the log: they are added, removed and updated while the quorum goes on (KIP-853)."""

from collections.abc import Callable, Coroutine
from typing import Any

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from klamm.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from klamm.raft.messages import Address
from klamm.raft.voters import Voter
from klamm.testing.world import Simulation
from server.quorum.hosts import CLUSTER_ID, SimulatedQuorum


def play(quorum: SimulatedQuorum, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    quorum.simulation.loop.run(work())
    assert not quorum.simulation.loop.complaints
    assert [host.failure for host in quorum.hosts.values() if host.failure] == []


def adding(voter: Voter) -> AddRaftVoterRequest:
    return AddRaftVoterRequest(
        cluster_id=CLUSTER_ID,
        timeout_ms=10_000,
        voter_id=voter.id,
        voter_directory_id=voter.directory,
        listeners=[Listener(name=name, host=at.host, port=at.port) for name, at in voter.endpoints],
    )


def removing(voter: Voter) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(
        cluster_id=CLUSTER_ID, voter_id=voter.id, voter_directory_id=voter.directory
    )


def voters_of(quorum: SimulatedQuorum) -> list[list[int]]:
    """As each node has them."""
    return [sorted(host.raft.voters.ids) for host in quorum.hosts.values()]


def own(quorum: SimulatedQuorum, node_id: int) -> Voter:
    """A node that was formatted without voters has a directory id of its own."""
    return quorum.voter(node_id)._replace(directory=quorum.hosts[node_id].raft.me.directory)


def test_a_controller_that_has_caught_up_becomes_a_voter_and_can_lead() -> None:
    quorum = SimulatedQuorum(Simulation(1), voters=1, observers=3, is_dynamic=True)

    async def work() -> None:
        await quorum.start()
        await quorum.write(3)
        await quorum.until(quorum.all_have_all)
        assert not quorum.hosts[2].raft.is_voter

        for node_id in (2, 3):
            answer = await quorum.ask_leader(adding(own(quorum, node_id)))
            assert answer.error_code == ErrorCode.NONE
        await quorum.until(lambda: voters_of(quorum) == [[1, 2, 3]] * 4)
        quorum.kill(1)
        await quorum.until(lambda: quorum.leader is not None)
        await quorum.write(3)
        await quorum.until(quorum.all_have_all)

        # Whoever was away learns of the new voters from the log.
        await quorum.start(1)
        await quorum.until(lambda: voters_of(quorum) == [[1, 2, 3]] * 4)
        await quorum.until(quorum.all_have_all)

    play(quorum, work)


def test_a_leader_that_is_removed_leads_until_that_is_safe_and_resigns() -> None:
    quorum = SimulatedQuorum(Simulation(2), voters=3, observers=1, is_dynamic=True)

    async def work() -> None:
        await quorum.start()
        await quorum.write(3)
        old = quorum.leader
        assert old is not None
        removed = old.raft.me.id

        answer = await quorum.ask_leader(removing(quorum.voter(removed)))

        assert answer.error_code == ErrorCode.NONE
        assert await quorum.until(lambda: quorum.leader not in (None, old)) < 1
        left = [each for each in (1, 2, 3) if each != removed]
        await quorum.until(lambda: voters_of(quorum) == [left] * 4)
        await quorum.write(1)
        await quorum.until(quorum.all_have_all)
        assert not old.raft.is_voter

    play(quorum, work)


def test_what_may_not_be_changed_is_refused() -> None:
    quorum = SimulatedQuorum(Simulation(3), voters=1, observers=2, is_dynamic=True)

    async def work() -> None:
        await quorum.start()
        await quorum.write(1)
        await quorum.until(quorum.all_have_all)
        stranger = quorum.voter(9)
        no_copy = own(quorum, 2)._replace(directory=quorum.voter(9).directory)
        for request, error in [
            (adding(stranger), ErrorCode.REQUEST_TIMED_OUT),
            (adding(no_copy), ErrorCode.REQUEST_TIMED_OUT),
            (adding(quorum.voter(1)), ErrorCode.DUPLICATE_VOTER),
            (removing(stranger), ErrorCode.VOTER_NOT_FOUND),
            (removing(own(quorum, 2)), ErrorCode.VOTER_NOT_FOUND),
            (removing(quorum.voter(1)), ErrorCode.INVALID_REQUEST),
        ]:
            assert (await quorum.ask_leader(request)).error_code == error
        assert voters_of(quorum) == [[1]] * 3

    play(quorum, work)


def test_one_change_is_committed_before_the_next_begins() -> None:
    quorum = SimulatedQuorum(Simulation(4), voters=1, observers=3, is_dynamic=True)

    async def work() -> None:
        await quorum.start()
        await quorum.write(1)
        await quorum.until(quorum.all_have_all)
        second, third = own(quorum, 2), own(quorum, 3)
        # With two voters nothing is committed without the second, who is gone before it has fetched the change.
        quorum.kill(2)
        first = adding(second)
        first.timeout_ms = 500
        assert (await quorum.ask_leader(first)).error_code == ErrorCode.REQUEST_TIMED_OUT
        refused = await quorum.ask_leader(adding(third))
        assert refused.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert "Another change" in refused.error_message

        await quorum.start(2)
        await quorum.until(lambda: voters_of(quorum) == [[1, 2]] * 4)
        await quorum.until(lambda: quorum.leader is not None)
        await quorum.write(1)
        await quorum.until(quorum.all_have_all)
        assert (await quorum.ask_leader(adding(third))).error_code == ErrorCode.NONE

    play(quorum, work)


def test_a_voter_that_has_moved_tells_where_it_is_now() -> None:
    quorum = SimulatedQuorum(Simulation(5), voters=3, is_dynamic=True)

    async def work() -> None:
        await quorum.start()
        await quorum.write(1)
        leader = quorum.leader
        assert leader is not None
        moving = next(each for each in (1, 2, 3) if each != leader.raft.me.id)
        quorum.kill(moving)
        quorum.ports[moving] = 9193
        await quorum.start(moving)

        def is_known() -> bool:
            where = Address(f"node{moving}", 9193)
            found = [host.raft.voters.find(moving) for host in quorum.hosts.values()]
            return all(voter is not None and voter.address == where for voter in found)

        await quorum.until(is_known)

    play(quorum, work)
