"""Who waits for the high watermark: told in order, once, and in time."""

from klamm.base.errors import ErrorCode
from klamm.replication.acks import Acknowledgements
from klamm.replication.partition import Partition
from replication.leading import OTHER, THIRD, US, WALL, a_batch_of, a_leader, a_state, fetch


class Client:
    def __init__(self) -> None:
        self.told: list[int] = []
        self.is_late = False

    def heard(self, partition: Partition, code: int) -> None:
        self.told.append(code)

    def timed_out(self) -> None:
        self.is_late = True


def commit(partition: Partition, offset: int, acks: Acknowledgements) -> None:
    for each in (OTHER, THIRD):
        fetch(partition, each, offset)
    acks.committed(partition)


def test_each_is_told_when_the_high_watermark_has_passed_its_end() -> None:
    partition, acks = a_leader(), Acknowledgements()
    first, second = Client(), Client()
    for client in (first, second):
        batch = a_batch_of(0 if client is first else 1)
        end = partition.append(batch, acks=-1, now=WALL).last_offset + 1
        acks.wait(client, [(partition, end)], deadline=100)

    commit(partition, 1, acks)
    assert (first.told, second.told) == ([ErrorCode.NONE], [])
    commit(partition, 2, acks)

    assert second.told == [ErrorCode.NONE]
    assert (len(acks), acks.deadlines.next) == (0, None)


def test_a_repeated_batch_waits_for_the_offsets_it_got_the_first_time() -> None:
    """Mistake 2: the log answers a repeated batch at once, but its first copy is not committed yet."""
    partition, acks = a_leader(), Acknowledgements()
    for sequence in range(3):
        partition.append(a_batch_of(sequence), acks=-1, now=WALL)
    last, again = Client(), Client()
    acks.wait(last, [(partition, 3)], deadline=100)

    repeated = partition.append(a_batch_of(1), acks=-1, now=WALL)
    assert repeated.duplicate
    assert repeated.last_offset >= partition.high_watermark
    acks.wait(again, [(partition, repeated.last_offset + 1)], deadline=100)

    commit(partition, 1, acks)
    assert again.told == []
    commit(partition, 2, acks)
    assert (again.told, last.told) == ([ErrorCode.NONE], [])


def test_who_waits_for_several_partitions_hears_of_each() -> None:
    one, two, acks = a_leader(), a_leader(), Acknowledgements()
    two.name = two.name._replace(partition=1)
    for partition in (one, two):
        partition.append(a_batch_of(0), acks=-1, now=WALL)
    client = Client()
    acks.wait(client, [(one, 1), (two, 1)], deadline=100)

    commit(one, 1, acks)
    assert (client.told, len(acks)) == ([ErrorCode.NONE], 1)
    commit(two, 1, acks)

    assert (client.told, len(acks)) == ([ErrorCode.NONE] * 2, 0)


def test_who_waited_too_long_hears_nothing_more() -> None:
    partition, acks = a_leader(), Acknowledgements()
    partition.append(a_batch_of(0), acks=-1, now=WALL)
    late, patient = Client(), Client()
    acks.wait(late, [(partition, 1)], deadline=100)
    acks.wait(patient, [(partition, 1)], deadline=200)

    for waiter in acks.deadlines.due(100):
        acks.expire(waiter)
    commit(partition, 1, acks)

    assert (late.is_late, late.told) == (True, [])
    assert (patient.is_late, patient.told) == (False, [ErrorCode.NONE])


def test_when_the_leader_moves_nobody_is_told_that_it_is_committed() -> None:
    partition, acks = a_leader(), Acknowledgements()
    partition.append(a_batch_of(0), acks=-1, now=WALL)
    client = Client()
    acks.wait(client, [(partition, 1)], deadline=100)

    partition.make_follower(a_state(leader=OTHER, epoch=1))
    acks.moved(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    assert (client.told, len(acks)) == ([ErrorCode.NOT_LEADER_OR_FOLLOWER], 0)


def test_too_few_in_sync_after_the_append_are_told() -> None:
    partition, acks = a_leader(min_isr=2), Acknowledgements()
    partition.append(a_batch_of(0), acks=-1, now=WALL)
    client = Client()
    acks.wait(client, [(partition, 1)], deadline=100)

    for each in (OTHER, THIRD):
        fetch(partition, each, 1)
    partition.isr = (US,)
    acks.committed(partition)

    assert client.told == [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]


def test_who_is_gone_is_forgotten_wherever_it_stood() -> None:
    partition, acks = a_leader(), Acknowledgements()
    clients = [Client() for _ in range(6)]
    for number, client in enumerate(clients):
        # Two wait for each end.
        if number % 2 == 0:
            partition.append(a_batch_of(number // 2), acks=-1, now=WALL)
        acks.wait(client, [(partition, number // 2 + 1)], deadline=100)

    for gone in (clients[3], clients[0], clients[0]):
        acks.abandon(gone)

    assert len(acks) == 4
    commit(partition, 3, acks)
    assert [each.told for each in clients] == [[], [0], [0], [], [0], [0]]
    assert (len(acks), acks.deadlines.next) == (0, None)


def test_who_is_told_may_have_others_forgotten_that_are_told_next() -> None:
    """An answer that is sent takes memory, and so may end another connection on the spot."""
    partition, acks = a_leader(), Acknowledgements()
    last = Client()

    class Selfish(Client):
        def heard(self, partition: Partition, code: int) -> None:
            super().heard(partition, code)
            acks.abandon(last)

        def timed_out(self) -> None:
            acks.abandon(last)

    for first in (Selfish(), Selfish()):
        for client in (first, last):
            batch = a_batch_of(partition.log.end_offset)
            end = partition.append(batch, acks=-1, now=WALL).last_offset + 1
            acks.wait(client, [(partition, end)], deadline=100)
        if partition.log.end_offset == 2:
            commit(partition, 2, acks)
        else:
            for each in acks.deadlines.due(100):
                acks.expire(each)

    assert (last.told, last.is_late) == ([], False)
    assert (len(acks), acks.deadlines.next) == (0, None)
