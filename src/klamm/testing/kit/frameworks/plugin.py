"""The pytest plugin `klamm`: fixtures, a marker for their options, and what the broker knows in the report of a failure.

It is loaded by every pytest where klamm is installed, so it imports nothing before a test asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from klamm.testing.kit.broker import Broker
    from klamm.testing.kit.cluster.cluster import Cluster
    from klamm.testing.kit.frameworks.managed import Managed
    from klamm.testing.kit.records import Record
    from klamm.testing.kit.topics import Topic

BOOTSTRAP = "KLAMM_BOOTSTRAP"
MARKER = "kafka"
_FIXTURES = frozenset({"kafka_broker", "kafka_cluster", "kafka_topic", "kafka_records"})
Scope = Literal["session", "module", "function"]

_MANAGED = pytest.StashKey["Managed"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "klamm_scope",
        default="function",
        help="after how much the fixture kafka_broker is empty again: function, module or session",
    )
    parser.getgroup("klamm").addoption(
        "--klamm-scope",
        choices=["function", "module", "session"],
        help="klamm_scope of the ini file, for this run",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(topics=..., settings=..., brokers=..., partitions=..., process=False): what the fixtures "
        "kafka_broker, kafka_cluster and kafka_topic of klamm give this test",
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    managed = config.stash.get(_MANAGED, None)
    if managed is not None:
        managed.stop()


def _managed(config: pytest.Config) -> Managed:
    """One for a process: each worker of xdist has its own."""
    if _MANAGED not in config.stash:
        from klamm.testing.kit.frameworks.managed import Managed

        config.stash[_MANAGED] = Managed(os.environ.get(BOOTSTRAP))
    return config.stash[_MANAGED]


def _scope(fixture_name: str, config: pytest.Config) -> Scope:
    scope: Scope = config.getoption("--klamm-scope") or config.getini("klamm_scope")
    return scope


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Of all its markers: those of the test win over those of its class, and these over the module's."""
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        if marker.args:
            raise pytest.UsageError(f"the marker {MARKER} takes names only: {marker.args}")
        options.update(marker.kwargs)
    unknown = options.keys() - {"topics", "settings", "brokers", "partitions", "process"}
    if unknown:
        raise pytest.UsageError(f"the marker {MARKER} knows no {', '.join(sorted(unknown))}")
    return options


@pytest.fixture(scope=_scope)
def kafka_broker(request: pytest.FixtureRequest) -> Broker:
    """A broker without records; the same for all tests that ask for the same, emptied between them."""
    return _managed(request.config).broker(_options(request))


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster of three brokers, or as many as the marker says; whole again after each test."""
    managed = _managed(request.config)
    yield managed.cluster(_options(request))
    managed.mend_cluster()


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest, kafka_broker: Broker) -> Topic:
    """A topic of its own for each test: a name for any client, with `produce`, `records` and `expect`."""
    return kafka_broker.topic(partitions=_options(request).get("partitions", 1))


@pytest.fixture
def kafka_records(kafka_broker: Broker) -> Callable[[str], list[Record]]:
    """`kafka_records(topic)`: all that is in it."""
    return kafka_broker.records


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    managed = item.config.stash.get(_MANAGED, None)
    is_ours = not _FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
    if report.failed and managed is not None and is_ours:
        report.sections.extend(managed.sections())
    return report
