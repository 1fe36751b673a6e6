"""The shell of `klamm sql`, typed at."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("prompt_toolkit")

from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from klamm.cli.output import Format
from klamm.cli.sql.asker import Asker
from klamm.cli.sql.shell import Names, is_whole, run_shell
from klamm.pipeline.adhoc.known import Known
from klamm.pipeline.adhoc.sampling import Looker
from klamm.pipeline.place import Place
from klamm.pipeline.running import registry

Topic = Callable[..., str]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT ';", False),
        ("SELECT 1; SELECT", False),
        ("SELECT 1; -- end", True),
        ("", True),
        (" exit ", True),
        ("help", True),
    ],
)
def test_enter_sends_what_is_whole(text: str, expected: bool) -> None:
    assert is_whole(text) is expected


def test_names_and_columns_are_offered(bootstrap: str, warehouse: Path, topic: Topic) -> None:
    topic("shell_names", b'{"user": "ann", "used": 5}')

    def offered(text: str) -> list[str]:
        found = names.get_completions(Document(text), CompleteEvent())
        return [each.text for each in found]

    with Looker(bootstrap) as looker:
        names = Names(Known(looker, str(warehouse)))
        assert offered("SELECT * FROM shell_n") == ["shell_names"]
        assert offered("SELECT count(*) FROM shell_names WHERE use") == ["user", "used"]


@contextmanager
def an_asker(bootstrap: str, warehouse: Path) -> Iterator[Asker]:
    place = Place(bootstrap=bootstrap, checkpoint="", warehouse=str(warehouse))
    with (
        Looker(bootstrap) as looker,
        Asker(Known(looker, str(warehouse)), place, limit=10) as asker,
    ):
        yield asker


@pytest.mark.usefixtures("spark")
def test_questions_are_answered_until_exit(
    bootstrap: str, warehouse: Path, topic: Topic, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    topic("shell_clicks", b'{"user": "ann", "ms": 5}', b'{"user": "bob", "ms": 7}')
    typed = (
        "SHOW TABLES LIKE 'shell_cl*';\r"
        "SELECT sum(ms) AS ms\rFROM shell_clicks;\r"
        "SELECT nothing FROM shell_clicks;\r"
        "SELECT user FROM shell_clicks WHERE ms > 5; SELECT 2 AS two;\r"
        "DESCRIBE shell_clicks;\r"
        "exit\r"
    )

    with (
        an_asker(bootstrap, warehouse) as asker,
        create_pipe_input() as keys,
        create_app_session(input=keys, output=DummyOutput()),
    ):
        keys.send_text(typed)
        run_shell(asker, Format.JSON)

    out, err = capsysbinary.readouterr()
    names, total, bob, two, *columns = out.decode().splitlines()
    assert names == '{"name":"shell_clicks","kind":"topic"}'
    assert (total, bob, two) == ('{"ms":12}', '{"user":"bob"}', '{"two":2}')
    assert columns[0] == '{"col_name":"user","data_type":"string","comment":null}'
    assert "`nothing` cannot be resolved" in err.decode()
    assert "1 row in " in err.decode()
    history = registry.state_home() / "sql_history"
    assert "SELECT 2 AS two" in history.read_text()
    assert stat.S_IMODE(os.stat(history).st_mode) == 0o600
