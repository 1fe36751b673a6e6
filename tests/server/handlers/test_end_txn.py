"""EndTxn: a transaction ends once, however often it is asked to."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from server.asking import Topic, error
from server.transacting import NONE, Speaker

OLD_EPOCH, FENCED = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(("version", "code"), [(1, OLD_EPOCH), (2, FENCED), (5, FENCED)])
def test_an_epoch_that_was_never_given_is_refused(
    speaker: Speaker, version: int, code: ErrorCode
) -> None:
    zombie = Producer(speaker.producer.id, speaker.producer.epoch + 1)

    answer = speaker.ask_end(commit=True, version=version, producer=zombie)

    assert error(answer.error_code) is code


def test_the_end_may_be_asked_for_again(speaker: Speaker, topic: Topic) -> None:
    speaker.add(topic, 0)
    speaker.end(commit=True, version=4)

    assert error(speaker.ask_end(commit=True, version=4).error_code) is NONE
    again = speaker.ask_end(commit=False, version=4)
    assert error(again.error_code) is ErrorCode.INVALID_TXN_STATE


def test_the_end_is_answered_again_as_before(speaker: Speaker, topic: Topic) -> None:
    first = speaker.producer
    speaker.write(topic, b"x")
    following = speaker.end(commit=True)

    again = speaker.ask_end(commit=True, producer=first)

    assert error(again.error_code) is NONE
    assert Producer(again.producer_id, again.producer_epoch) == following
    other = speaker.ask_end(commit=False, producer=first)
    assert error(other.error_code) is ErrorCode.INVALID_TXN_STATE


def test_an_abort_without_a_transaction_raises_the_epoch(speaker: Speaker) -> None:
    before = speaker.producer

    assert speaker.end(commit=False) == Producer(before.id, before.epoch + 1)
    commit = speaker.ask_end(commit=True)
    assert error(commit.error_code) is ErrorCode.INVALID_TXN_STATE
