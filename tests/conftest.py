"""What holds for all tests."""

import pytest
from hypothesis import settings

# A busy machine is no fault of the code under test: examples are bounded in number, not in time.
settings.register_profile("klamm", deadline=None)
settings.load_profile("klamm")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever takes a Spark session runs in one process, so that there is one session: `make spark`."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
