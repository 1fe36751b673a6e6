"""What a source has to ask the cluster before Spark starts: which topics are there, with which partitions. No Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer, KafkaException

from klamm.pipeline.client import connection
from klamm.pipeline.place import Place
from klamm.pipeline.sources.trouble import SourceFailed, SourceUnreachable
from klamm.pipeline.spec.problems import nearest

TIMEOUT_SECONDS = 15.0


def partitions_by_topic(place: Place) -> dict[str, list[int]]:
    """All topics. Asked for by name, a topic that is not there might be created by the asking."""
    consumer = Consumer({**connection(place), "group.id": "klamm.pipeline"})
    try:
        found = consumer.list_topics(timeout=TIMEOUT_SECONDS).topics
    except KafkaException as error:
        raise SourceUnreachable(
            f"the cluster at {place.bootstrap} does not answer ({error.args[0].str()}): is it running, and is the "
            "address right?"
        ) from error
    finally:
        consumer.close()
    return {name: sorted(topic.partitions) for name, topic in found.items() if topic.error is None}


def check_topics(wanted: Iterable[str], there: Mapping[str, list[int]], bootstrap: str) -> None:
    for topic in wanted:
        if topic not in there:
            near = nearest(topic, there)
            hint = f"; did you mean {near}?" if near else ""
            raise SourceFailed(
                f"there is no topic {topic} on {bootstrap}{hint} (`klamm topic create {topic}` creates it)"
            )
