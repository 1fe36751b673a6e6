"""Made-up histories: a good one in short words, to be spoilt."""

from chaos.cluster.checker.evidence import Evidence, FoundOffset, Log, Written
from chaos.cluster.checker.history import (
    NEVER,
    Commit,
    History,
    Outcome,
    Ownership,
    Poll,
    Send,
    Takeover,
    Transaction,
)

from klamm.base.ids import TopicPartition

HERE = TopicPartition("topic", 0)
THERE = TopicPartition("topic", 1)
COPY = TopicPartition("copy", 0)


class Story:
    """Time goes on by one with every step."""

    def __init__(self) -> None:
        self.history = History()
        self.evidence = Evidence(self.history, {HERE: Log(), THERE: Log()})
        self._now = 0.0

    def tick(self) -> float:
        self._now += 1
        return self._now

    def write(
        self,
        value: bytes,
        place: TopicPartition = HERE,
        *,
        producer: int = 1,
        epoch: int = 0,
        sequence: int | None = None,
        committed: bool | None = True,
    ) -> int:
        """Into the log, and nobody is told."""
        log = self.evidence.logs[place]
        if sequence is None:
            sequence = sum(
                (each.producer_id, each.epoch) == (producer, epoch) for each in log.records
            )
        log.records.append(
            Written(log.end, value, producer, epoch, sequence, committed is not True, committed)
        )
        log.end += 1
        return log.end - 1

    def send(
        self,
        value: bytes,
        place: TopicPartition = HERE,
        *,
        process: str = "writer",
        client: str = "klamm",
        offset: int = -1,
        outcome: Outcome = Outcome.OK,
        transaction: Transaction | None = None,
    ) -> Send:
        """A writer's side of it only."""
        send = Send(
            process=process,
            client=client,
            place=place,
            value=value,
            invoked=self.tick(),
            transaction=transaction,
            outcome=outcome,
            offset=offset,
            completed=self.tick(),
        )
        self.history.sends.append(send)
        if transaction is not None:
            transaction.sends.append(send)
        return send

    def say(self, value: bytes, place: TopicPartition = HERE, **more: object) -> Send:
        """Written and acknowledged."""
        return self.send(value, place, offset=self.write(value, place), **more)

    def begin(self, *, run: int = 1, name: str = "tx") -> Transaction:
        made = Transaction(
            process=f"{name}.{run}", transactional_id=name, run=run, invoked=self.tick()
        )
        self.history.transactions.append(made)
        return made

    def end(
        self, transaction: Transaction, *, commit: bool = True, outcome: Outcome = Outcome.OK
    ) -> None:
        transaction.is_commit, transaction.outcome = commit, outcome
        transaction.ending, transaction.completed = self.tick(), self.tick()

    def take_over(self, run: int, name: str = "tx") -> None:
        self.history.takeovers.append(
            Takeover(transactional_id=name, run=run, invoked=self.tick(), completed=self.tick())
        )

    def poll(
        self,
        *offsets: int,
        place: TopicPartition = HERE,
        process: str = "reader",
        session: int = 1,
        committed: bool = True,
        group: str | None = None,
        transaction: Transaction | None = None,
        values: tuple[bytes, ...] = (),
    ) -> Poll:
        at = {each.offset: each.value for each in self.evidence.logs[place].records}
        found = values or tuple(at[offset] for offset in offsets)
        poll = Poll(
            process=process,
            session=session,
            is_committed=committed,
            invoked=self.tick(),
            completed=self.tick(),
            records=[(place, o, v) for o, v in zip(offsets, found, strict=True)],
            group=group,
            transaction=transaction,
        )
        self.history.polls.append(poll)
        if transaction is not None:
            transaction.polls.append(poll)
        return poll

    def own(
        self,
        member: str,
        *,
        generation: int | None = None,
        until: float = NEVER,
        place: TopicPartition = HERE,
    ) -> Ownership:
        made = Ownership(
            group="group",
            member=member,
            place=place,
            since=self.tick(),
            until=until,
            generation=generation,
        )
        self.history.ownerships.append(made)
        return made

    def commit(
        self,
        member: str,
        offset: int,
        *,
        generation: int | None = None,
        outcome: Outcome = Outcome.OK,
    ) -> Commit:
        made = Commit(
            group="group",
            member=member,
            place=HERE,
            offset=offset,
            invoked=self.tick(),
            generation=generation,
            outcome=outcome,
            completed=self.tick() if outcome is Outcome.OK else NEVER,
        )
        self.history.commits.append(made)
        return made

    def group_is_at(self, offset: int) -> None:
        self.evidence.offsets["group", HERE] = FoundOffset(offset, self.tick(), self.tick())

    def read_to_the_end(self) -> None:
        """Everybody reads what there is."""
        for name, only_committed in (("final committed", True), ("final uncommitted", False)):
            found = {
                place: {
                    each.offset: each.value
                    for each in log.records
                    if each.is_committed is True or not only_committed
                }
                for place, log in self.evidence.logs.items()
            }
            readers = (
                self.evidence.final_committed if only_committed else self.evidence.final_uncommitted
            )
            readers[name] = found
