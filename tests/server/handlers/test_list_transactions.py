"""ListTransactions: by state, producer, duration and name."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.list_transactions import ListTransactionsRequest
from server.asking import Topic, error
from server.transacting import Speaker
from server.wire_client import WireClient


def test_list_filters_by_state_producer_duration_and_pattern(
    client: WireClient, speaker: Speaker, topic: Topic
) -> None:
    idle = Speaker(client, f"{speaker.name}-idle")
    idle.init()
    speaker.write(topic, b"x")

    def found(**filters: object) -> set[str]:
        answer = client.ask(ListTransactionsRequest(**filters))
        assert answer.error_code == 0
        names = {each.transactional_id for each in answer.transaction_states}
        return {each for each in names if each.startswith(speaker.name)}

    both = {speaker.name, idle.name}
    assert found() == both
    assert found(state_filters=["Ongoing", "Dead"]) == {speaker.name}
    assert found(producer_id_filters=[idle.producer.id]) == {idle.name}
    # What has no transaction is older than any.
    assert found(duration_filter=3_600_000) == {idle.name}
    assert found(transactional_id_pattern="") == both
    unknown = client.ask(ListTransactionsRequest(state_filters=["ongoing", "Empty"]))
    assert unknown.unknown_state_filters == ["ongoing"]
    speaker.end(commit=False)


def test_list_by_pattern(client: WireClient, speaker: Speaker) -> None:
    pytest.importorskip("re2")
    asked = [speaker.name, speaker.name[:-1], f"{speaker.name[:-1]}.*", "("]

    answers = [client.ask(ListTransactionsRequest(transactional_id_pattern=each)) for each in asked]

    assert [len(each.transaction_states) for each in answers] == [1, 0, 1, 0]
    assert error(answers[3].error_code) is ErrorCode.INVALID_REGULAR_EXPRESSION
