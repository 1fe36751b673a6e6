"""Whatever stands on the command line and wherever the answer goes: an answer or a sentence, never a traceback.

Every command gets hostile values in every one of its options. What would start a broker or Spark is stopped before that.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.hostile.option_table import Slot, Words, table
from cli.hostile.streams import Stdout, run

TABLE = table()
TOPIC = "hostile"
EXAMPLES_PER_OPTION = 4
# They start Java, or wait for a group.
EXAMPLES_OF_SLOW = {("pipeline", "doctor"): 4}
# What the line says besides, so that the hostile value is what decides. Elsewhere, TOPIC for each argument it must have.
LINES: dict[Words, Words] = {
    # With acks=all librdkafka takes half a second for its producer id.
    ("produce",): (TOPIC, "-a", "1"),
    ("topic", "delete"): ("nope",),
    ("consume",): (TOPIC, "--exit"),
    ("group", "reset-offsets"): ("group", "-t", TOPIC),
    ("pipeline", "validate"): ("pipeline.yaml",),
    ("pipeline", "plan"): ("pipeline.yaml",),
    ("pipeline", "run"): ("pipeline.yaml",),
    ("pipeline", "replay"): ("pipeline.yaml", "--from", "earliest"),
    # Elsewhere than where the user's own may be.
    ("cluster", "create"): ("--no-start", "--dir", "made"),
    ("cluster", "start"): ("--dir", "nowhere"),
    ("cluster", "stop"): ("--dir", "nowhere"),
    ("cluster", "destroy"): ("--dir", "nowhere"),
    ("cluster", "reassign"): (TOPIC, "--to", "1"),
    ("cluster", "decommission"): ("7",),
    ("log", "dump"): (".",),
    ("log", "verify"): (".",),
    ("protocol", "show"): ("FetchRequest", "12"),
}
# It brings half a gigabyte from the network, and has no option but --output.
LEFT_OUT = {("pipeline", "fetch")}
COMMANDS = sorted(set(TABLE) - LEFT_OUT)
# They never end.
NEVER = {"--watch"}


def words(text: str) -> Words:
    return tuple(text.split())


NUMBERS = (
    *words("0 -1 -3 -7 99999 100000000 2147483648 -2147483649 9223372036854775808"),
    *words("-9223372036854775809 nan inf -inf 1e400 0x10 1_0 ٣"),
    "9" * 5000,
)
TEXTS = (
    *("", " ", "\n", "\u202e", "\udcff", "x" * 300, "y" * 40_000),
    *words(r"x é - -- .. / /dev/null /no/such a=b = =b a= % %x \ \x { [1,2] * [ : :::"),
)
PLACES = words("@99999999999999999999 @0001-01-01 @9999-12-31T23:59:59-23:59 @-999999999999d 5:2")
# No names of other machines: nobody should be asked.
ADDRESSES = (
    *("", "x" * 300, "é" * 80),
    *words(", : 127.0.0.1:1 127.0.0.1:0 [::1 [::1]:1 1:2:3"),
)
PROPERTIES = (
    "group.id= ",
    *words("group.id= error_cb=1 stats_cb=x oauth_cb=x no.such=1 acks=7 ="),
)

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), max_size=20)


def values_for(slot: Slot) -> st.SearchStrategy[str]:
    if slot.name == "bootstrap":
        return st.sampled_from(ADDRESSES)
    if slot.name == "properties":
        return st.sampled_from((*PROPERTIES, *TEXTS[:2]))
    return st.sampled_from((*NUMBERS, *TEXTS, *PLACES)) | ANY_TEXT


def one_slot(slot: Slot) -> st.SearchStrategy[Words]:
    if slot.is_flag:
        return st.just((slot.option,))
    values = values_for(slot)
    return values.map(lambda value: (slot.option, value) if slot.option else (value,))


def command_lines(command: Words, broker: str) -> st.SearchStrategy[Words]:
    """The sane line with one to three hostile words, or hostile words alone in place of its arguments."""
    slots = [slot for slot in TABLE[command] if slot.option not in NEVER]
    must = [word for slot in slots if slot.is_required for word in (slot.option, TOPIC) if word]
    sane = LINES.get(command, tuple(must))
    reached = ("-b", broker) if any(slot.name == "bootstrap" for slot in slots) else ()
    if not slots:
        return st.just((*command, *sane))
    wild = st.lists(st.sampled_from(slots).flatmap(one_slot), min_size=1, max_size=3)
    lines = st.sampled_from((sane, sane, ("--exit",) * (command[0] == "consume")))
    # A later -b wins, where one is among the wild words.
    return st.builds(
        lambda line, words: (*command, *line, *reached, *(w for each in words for w in each)),
        lines,
        wild,
    )


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory: pytest.TempPathFactory, broker: str) -> Iterator[None]:
    """A directory where nothing can be harmed, and a machine on which neither brokers nor Spark start."""
    place = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for variable in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
            patch.setenv(variable, str(place / variable))
        patch.setitem(sys.modules, "pyspark", None)
        patch.setattr("klamm.server.process.serve", lambda settings, **_: 0)
        patch.setattr("klamm.cli.demo.screen._klamm", lambda: ["false"])
        patch.setattr("klamm.cli.cluster.local._SERVE", "raise SystemExit(1)")
        Path("pipeline.yaml").write_text(PIPELINE)
        assert run(["topic", "create", TOPIC, "-b", broker], Stdout.PIPE).code == 0
        yield


PIPELINE = """\
name: hostile
source: {topic: hostile, format: text}
sinks: [{topic: hostile-out}]
"""


def test_every_number_has_a_lowest_and_a_highest() -> None:
    """Without them it goes on to a place that cannot hold it."""
    endless = [
        (*words, slot.name) for words, slots in TABLE.items() for slot in slots if slot.is_endless
    ]

    assert endless == []


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.usefixtures("nowhere")
def test_hostile_values_get_an_answer_and_no_traceback(command: Words, broker: str) -> None:
    @settings(
        max_examples=EXAMPLES_OF_SLOW.get(
            command, EXAMPLES_PER_OPTION * (len(TABLE[command]) or 1)
        ),
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(words=command_lines(command, broker), stdout=st.sampled_from(Stdout))
    def check(words: Words, stdout: Stdout) -> None:
        answer = run(words, stdout, stdin=b"a\nb\n")

        assert answer.code in (0, 1, 2)
        assert "Traceback" not in answer.err
        if stdout is not Stdout.CLOSED:
            assert answer.code == 0 or answer.err or answer.out, "it says nothing"

    check()


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 300])
@pytest.mark.usefixtures("nowhere")
def test_table_of_what_is_no_topic_is_wrong_usage(name: str, broker: str) -> None:
    answer = run(["table", "-b", broker, "--", name], Stdout.PIPE)

    assert answer.code == 2
    assert "a topic's name" in answer.err
