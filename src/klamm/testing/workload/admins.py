"""An administrator who never leaves well alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client import Admin
from klamm.client.admin.configs import ResourceKind
from klamm.testing.history import Outcome, Setting, TopicLife
from klamm.testing.workload.stage import Stage


class Administrator:
    def __init__(self, stage: Stage, name: str) -> None:
        self._stage = stage
        self._name = name
        self._rng = stage.simulation.random(name)
        self._settings = 0

    async def run(self) -> None:
        stage, rng = self._stage, self._rng
        while not stage.is_over:
            try:
                async with Admin(stage.bootstrap, environment=stage.enters(self._name)) as admin:
                    while not stage.is_over:
                        await rng.choice(
                            (
                                self._recreate,
                                self._retain,
                                self._retain,
                                self._delete_records,
                                self._grow,
                            )
                        )(admin)
                        stage.history.operations += 1
                        while stage.is_calm and not stage.is_over:
                            await stage.breathe(1)
                        await stage.breathe(rng.expovariate(1 / 5))
            except ApiError:
                await stage.breathe(2)

    async def _recreate(self, admin: Admin) -> None:
        """Delete a topic and make another of the same name."""
        stage = self._stage
        life = stage.history.topics[-1]
        if life.deletion_began is None:
            life.deletion_began = stage.now()
            stage.topics.pop(life.name, None)
        # The controller knows; what a broker lists may be old. An answer that was lost may have told of success.
        if life.deleted is None:
            with _unless(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                await admin.topics.delete(life.name)
            life.deleted = stage.now()
        await stage.breathe(self._rng.expovariate(1))
        with _unless(ErrorCode.TOPIC_ALREADY_EXISTS):
            await admin.topics.create(life.name, partitions=2)
        stage.history.topics.append(TopicLife(life.name, stage.now()))
        stage.topics[life.name] = 2

    async def _retain(self, admin: Admin) -> None:
        # No two are equal, so that it can be told which of them holds.
        self._settings += 1
        value = str(self._rng.choice((20_000, 300_000, 3_000_000)) + self._settings)
        setting = Setting("short", "retention.ms", value)
        self._stage.history.settings.append(setting)
        await admin.configs.set(ResourceKind.TOPIC, setting.topic, {setting.name: value})
        setting.outcome = Outcome.DONE

    async def _delete_records(self, admin: Admin) -> None:
        place = TopicPartition("short", self._rng.randrange(self._stage.topics["short"]))
        (end,) = (await admin.records.list_offsets({place: -1})).values()
        offset = self._rng.randint(0, end.offset if end is not None else 0)
        asked = self._stage.history.deleted_before
        asked[place] = max(offset, asked.get(place, 0))
        await admin.records.delete({place: offset})

    async def _grow(self, admin: Admin) -> None:
        """More partitions, up to a few."""
        count = self._stage.topics["plain"]
        if count < 4:
            described = await admin.topics.describe("plain")
            if described.count == count:
                await admin.topics.add_partitions("plain", count + 1)
            self._stage.topics["plain"] = count + 1


@contextmanager
def _unless(code: ErrorCode) -> Iterator[None]:
    """It is so already."""
    try:
        yield
    except ApiError as e:
        if e.code is not code:
            raise
