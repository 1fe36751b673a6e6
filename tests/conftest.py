"""What holds for all tests."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from support.quick_java import start_java_quickly
from support.sharing_out import Together, long_ones_first

# A busy machine is no fault of the code under test: examples are bounded in number, not in time.
settings.register_profile("klamm", deadline=None)
settings.load_profile("klamm")

WITH_SPARK = [Path(__file__).with_name(name) for name in ("pipeline", "examples")]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together | None:
    return Together(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever takes the Spark session of the test process is for `make spark`, which looks into some folders only."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("spark") and not any(map(item.path.is_relative_to, WITH_SPARK)):
            raise pytest.UsageError(f"`make spark` would not find {item.nodeid}")
    long_ones_first(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("spark"):
        start_java_quickly()
