"""A history without a fault has no anomaly; and every anomaly has a test that shows it to be found."""

import ast
from pathlib import Path

from chaos.cluster.checker.check import ANOMALIES, NOTES, check, notes

from crash.checker.stories import COPY, HERE, THERE, Story
from klamm.base.ids import TopicPartition


def test_a_history_without_faults_has_no_anomaly(story: Story) -> None:
    story.evidence.logs[COPY] = type(story.evidence.logs[HERE])()
    story.evidence.copies["copy"] = "topic"
    story.take_over(1)
    for number in range(5):
        story.say(b"plain%d" % number, (HERE, THERE)[number % 2])
    first = story.begin()
    story.send(
        b"tx1", offset=story.write(b"tx1", producer=2), transaction=first, process=first.process
    )
    story.poll(0, 1, transaction=first, process=first.process)
    story.end(first)
    second = story.begin()
    written = story.write(b"tx2", producer=2, epoch=1, committed=False)
    story.send(b"tx2", offset=written, transaction=second, process=second.process)
    story.end(second, commit=False)
    for place in (HERE, THERE):
        for each in story.evidence.logs[place].records:
            if each.is_committed:
                copied = b"copier=" + each.value
                story.say(copied, COPY, process="copier", client="confluent")
    story.own("ann", generation=1, until=story.tick() + 1)
    story.poll(0, 1, 2, process="ann", group="group")
    story.commit("ann", 3, generation=1)
    story.own("bob", generation=2)
    story.poll(3, process="bob", group="group")
    story.commit("bob", 4, generation=2)
    story.group_is_at(4)
    story.poll(0, 1, 2, 3)
    story.poll(0, 1, 2, 3, 4, committed=False, process="curious")
    story.read_to_the_end()

    assert check(story.evidence) == []
    assert notes(story.evidence) == []


def test_findings_are_counted_and_shown(story: Story) -> None:
    for number in range(9):
        story.send(b"%d" % number, offset=number)

    (finding,) = (each for each in check(story.evidence) if each.name == "lost_write")

    assert finding.count == 9
    assert len(finding.examples) == 5
    assert str(finding).startswith("lost_write: 9\n  writer: b'0'")


def test_every_anomaly_has_a_test_that_finds_it() -> None:
    called = {
        node.func.attr
        for file in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }

    assert {each.__name__ for each in (*ANOMALIES, *NOTES)} <= called


def test_a_partition_that_nobody_looked_at_is_not_judged(story: Story) -> None:
    elsewhere = TopicPartition("elsewhere", 0)
    story.evidence.logs[elsewhere] = type(story.evidence.logs[HERE])()
    story.write(b"v", elsewhere)
    story.poll(0, place=elsewhere)
    del story.evidence.logs[elsewhere]

    assert check(story.evidence) == []
