"""docs/testing.md is true: its first test runs as it stands there, and what it names exists."""

import re
import subprocess
import sys
from pathlib import Path

from klamm import testing
from klamm.testing import Broker, Cluster
from klamm.testing.kit.cluster.member import Member
from klamm.testing.kit.expect import Expectation
from klamm.testing.kit.faults.faults import Faults

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_test_of_ten_lines_passes(tmp_path: Path) -> None:
    (first,) = [each for each in BLOCKS if each.startswith("# test_shipping.py")]
    (tmp_path / "test_shipping.py").write_text(first)
    (tmp_path / "pytest.ini").touch()

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )

    assert "1 passed" in done.stdout, done.stdout


def test_what_the_page_names_is_there() -> None:
    code = "\n".join(BLOCKS)
    for name in re.findall(r"from klamm\.testing import (\w+)", code):
        assert name in testing.__all__
    for thing, pattern in (
        (Broker, r"\bbroker\.(\w+)"),
        (Cluster, r"\bcluster\.(\w+)"),
        (Faults, r"\.faults\.(\w+)"),
        (Expectation, r"expect\([^)]*\)(?:\.within\([^)]*\))?\.(\w+)"),
        (Member, r"cluster\.broker\(2\)\.(\w+)"),
    ):
        names = set(re.findall(pattern, code))
        assert names
        assert {name for name in names if not hasattr(thing, name)} == set()
    for block in BLOCKS:
        compile(block, str(PAGE), "exec")


def test_every_public_name_can_be_imported() -> None:
    for name in testing.__all__:
        assert getattr(testing, name) is not None
