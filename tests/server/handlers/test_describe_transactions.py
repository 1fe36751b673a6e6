"""DescribeTransactions: what a transactional id is doing."""

from klamm.base.errors import ErrorCode
from server.asking import error
from server.conftest import MakeTopic
from server.transacting import Speaker
from server.wire_client import WireClient


def test_describe_tells_state_producer_and_partitions(
    speaker: Speaker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    speaker.write(topic, b"x", partition=1)

    state = speaker.describe()

    assert (state.transaction_state, state.transaction_timeout_ms) == ("Ongoing", 60_000)
    assert (state.producer_id, state.producer_epoch) == speaker.producer
    assert [(each.topic, each.partitions) for each in state.topics] == [(topic.name, [1])]
    assert state.transaction_start_time_ms > 0
    speaker.end(commit=False)


def test_what_is_not_there(client: WireClient) -> None:
    nobody = Speaker(client)
    assert error(nobody.describe().error_code) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    nobody.name = ""
    assert error(nobody.describe().error_code) is ErrorCode.INVALID_REQUEST
