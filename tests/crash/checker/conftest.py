"""Stories to be spoilt."""

import pytest

from crash.checker.stories import Story


@pytest.fixture
def story() -> Story:
    return Story()
