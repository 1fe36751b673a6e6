"""The examples are a package beside `tests`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
