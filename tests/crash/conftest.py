"""The engines of these tests are in the package `chaos` beside `tests`; here a bounded part of each is run.

KLAMM_CRASH_ALL=1 crashes at every step instead of some.
"""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))


@pytest.fixture(scope="session")
def share() -> float:
    """Of the steps of a scenario, those at which a crash is tried."""
    return 1.0 if os.environ.get("KLAMM_CRASH_ALL") else 0.06
