"""For unittest: `class TestOrders(KafkaMixin, unittest.TestCase)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from klamm.testing.kit.broker import Broker
from klamm.testing.kit.topics import Topics


class KafkaMixin:
    """`self.kafka` is a broker for the tests of the class, as after its start for each of them."""

    kafka_topics: ClassVar[Topics] = ()
    kafka_settings: ClassVar[Mapping[str, object]] = {}
    kafka: ClassVar[Broker]

    @classmethod
    def setUpClass(cls) -> None:
        cls.kafka = Broker(cls.kafka_topics, settings=cls.kafka_settings).start()
        try:
            _next(cls).setUpClass()
        except BaseException:
            cls.kafka.stop()
            raise

    @classmethod
    def tearDownClass(cls) -> None:
        try:
            _next(cls).tearDownClass()
        finally:
            cls.kafka.stop()

    def setUp(self) -> None:
        self.kafka.reset()
        _next(self).setUp()


def _next(place: Any) -> Any:
    """The class behind the mixin, which is TestCase or comes before it."""
    return super(KafkaMixin, place)
