"""The docs say what is true: generated pages are fresh, links lead somewhere, deviations are listed."""

import re
from pathlib import Path

import pytest

from klamm.base.settings.table import BROKER as SETTINGS
from klamm.server.api_table import BROKER, CONTROLLER
from tidy.reference_pages import HANDLERS, PAGES, ROOT

MARKDOWN = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("name", PAGES)
def test_generated_page_is_fresh(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == PAGES[name](), "run `make docs`"


def test_every_setting_but_kafka_s_internal_ones_is_on_the_page_that_lists_all() -> None:
    page = (ROOT / "docs" / "config.md").read_text()
    wanted = {name for name, row in SETTINGS.items() if not row.hidden or name.startswith("klamm.")}

    assert {name for name in wanted if f"| `{name}` |" not in page} == set()


def test_every_handler_file_is_in_the_table_and_back() -> None:
    files = {path.stem for path in HANDLERS.glob("*.py")} - {"__init__"}

    assert files == set(BROKER) | set(CONTROLLER)


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_deviation_in_the_code_is_listed() -> None:
    listed = (ROOT / "docs" / "deviations.md").read_text()
    for path in ROOT.glob("src/**/*.py"):
        if "# Deviation:" in path.read_text():
            assert str(path.relative_to(ROOT / "src" / "klamm")) in listed


def test_no_test_sleeps() -> None:
    asleep = re.compile(r"\btime\.sleep\(|asyncio\.sleep\((?!0\))")
    for path in ROOT.glob("tests/**/test_*.py"):
        if path.name != Path(__file__).name:
            assert not asleep.search(path.read_text()), f"{path} sleeps"
