"""The fuzzer lies beside the tests, not among them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
