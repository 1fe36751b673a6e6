"""Anomalies of groups."""

from chaos.cluster.checker import groups
from chaos.cluster.checker.history import Outcome

from crash.checker.stories import HERE, THERE, Story


def test_two_owners_in_one_generation_are_found(story: Story) -> None:
    story.own("ann", generation=1)
    story.own("bob", generation=1, place=THERE)
    story.own("bob", generation=2)
    assert list(groups.two_owners(story.evidence)) == []

    story.own("bob", generation=1)

    assert len(list(groups.two_owners(story.evidence))) == 1


def test_a_former_owner_that_commits_is_found(story: Story) -> None:
    story.own("ann")
    story.commit("ann", 1)
    story.own("bob")
    story.commit("bob", 2)
    story.commit("ann", 3, outcome=Outcome.FAILED)
    assert list(groups.commit_of_a_former_owner(story.evidence)) == []

    story.commit("ann", 3)

    (found,) = groups.commit_of_a_former_owner(story.evidence)
    assert "bob owns" in found


def test_an_owner_that_was_given_the_partition_back_may_commit(story: Story) -> None:
    story.own("ann")
    bob = story.own("bob")
    bob.until = story.tick()
    story.own("ann")
    story.commit("ann", 3)

    assert list(groups.commit_of_a_former_owner(story.evidence)) == []


def test_a_commit_that_was_under_way_at_the_change_is_no_former_owners(story: Story) -> None:
    story.own("ann")
    commit = story.commit("ann", 1)
    story.own("bob")
    commit.completed = story.tick()

    assert list(groups.commit_of_a_former_owner(story.evidence)) == []


def test_an_older_generation_that_commits_is_found(story: Story) -> None:
    story.commit("ann", 1, generation=1)
    story.commit("bob", 2, generation=2)
    assert list(groups.commit_of_an_older_generation(story.evidence)) == []

    story.commit("ann", 3, generation=1)

    assert len(list(groups.commit_of_an_older_generation(story.evidence))) == 1


def test_a_committed_offset_that_is_forgotten_is_found(story: Story) -> None:
    story.commit("ann", 1)
    story.commit("ann", 2)
    story.group_is_at(2)
    assert list(groups.committed_offset_lost(story.evidence)) == []

    story.group_is_at(1)

    assert len(list(groups.committed_offset_lost(story.evidence))) == 1


def test_a_commit_of_unknown_outcome_may_have_come_later(story: Story) -> None:
    story.commit("ann", 3, outcome=Outcome.UNKNOWN)
    story.commit("ann", 2)
    story.group_is_at(3)

    assert list(groups.committed_offset_lost(story.evidence)) == []


def test_offsets_of_transactions_are_held_to_it_as_well(story: Story) -> None:
    for offset in (4, 5):
        transaction = story.begin()
        transaction.group, transaction.offsets = "group", {HERE: offset}
        story.end(transaction)
    aborted = story.begin()
    aborted.group, aborted.offsets = "group", {HERE: 6}
    story.end(aborted, commit=False)
    story.group_is_at(5)
    assert list(groups.committed_offset_lost(story.evidence)) == []

    story.group_is_at(6)

    assert len(list(groups.committed_offset_lost(story.evidence))) == 1


def test_a_new_owner_that_begins_below_what_was_committed_is_found(story: Story) -> None:
    for number in range(4):
        story.say(b"%d" % number)
    story.own("ann").until = 99
    story.commit("ann", 2)
    story.own("bob")
    story.poll(2, 3, process="bob", group="group")
    assert list(groups.offset_went_back(story.evidence)) == []

    story.own("eve")
    story.poll(1, 2, process="eve", group="group")

    (found,) = groups.offset_went_back(story.evidence)
    assert "eve" in found


def test_a_record_that_no_member_was_given_is_found(story: Story) -> None:
    for number in range(4):
        story.say(b"%d" % number)
    story.write(b"aborted", committed=False)
    story.poll(0, 1, process="ann", group="group")
    story.group_is_at(2)
    assert list(groups.skipped_by_group(story.evidence)) == []

    story.group_is_at(5)

    (found,) = groups.skipped_by_group(story.evidence)
    assert "[2, 3]" in found
