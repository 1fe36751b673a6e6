"""Asks a cluster which topics it has under some names. One request where the names are known, two for patterns."""

from __future__ import annotations

from collections.abc import Callable, Collection

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from klamm.pipeline.client import connection
from klamm.pipeline.identity.rules import Identity, Topic
from klamm.pipeline.place import Place
from klamm.pipeline.sources.trouble import SourceUnreachable
from klamm.pipeline.spec import Pipeline, TopicSource
from klamm.pipeline.spec.checks.reads import matches

TIMEOUT_SECONDS = 15.0
# What a cluster says that gives topics no ids.
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
# The topic's own errors: it is not there, or not for us. Whoever reads it hears that, too.
_OF_THE_TOPIC = (
    "UNKNOWN_TOPIC_OR_PART",
    "TOPIC_AUTHORIZATION_FAILED",
    "TOPIC_EXCEPTION",
    "LEADER_NOT_AVAILABLE",
)


class Topics:
    """The topics of a pipeline on its cluster. The client is made when it is first needed, and kept."""

    def __init__(
        self,
        make_client: Callable[[], AdminClient],
        bootstrap: str,
        *,
        named: Collection[str] = (),
        patterns: Collection[str] = (),
    ) -> None:
        self._make_client = make_client
        self._bootstrap = bootstrap
        self._named = named
        self._patterns = patterns
        self._client: AdminClient | None = None

    def ask(self, *, known: Collection[str] = (), with_cluster: bool = False) -> Identity:
        """Of those that the pipeline names and those that are `known`. Raises SourceUnreachable."""
        if not (self._named or self._patterns or known):
            return Identity()
        try:
            names = sorted({*self._named, *known, *self._matching()})
            topics = self._described(names)
            return Identity(self._cluster_id() if with_cluster else None, topics)
        except KafkaException as error:
            raise SourceUnreachable(
                f"the cluster at {self._bootstrap} does not answer ({error.args[0].str()})"
            ) from error

    def _matching(self) -> list[str]:
        if not self._patterns:
            return []
        # Asked for all, and not by name: asking must not create.
        there = self._admin().list_topics(timeout=TIMEOUT_SECONDS).topics
        return [t for t in there if any(matches(pattern, t) for pattern in self._patterns)]

    def _described(self, names: list[str]) -> dict[str, Topic]:
        if not names:
            return {}
        asked = self._admin().describe_topics(
            TopicCollection(names), request_timeout=TIMEOUT_SECONDS
        )
        found = {}
        for name, future in asked.items():
            try:
                told = future.result()
            except KafkaException as error:
                if error.args[0].name() not in _OF_THE_TOPIC:
                    raise
                continue
            topic_id = str(told.topic_id)
            found[name] = Topic(None if topic_id == _NO_ID else topic_id, len(told.partitions))
        return found

    def _cluster_id(self) -> str | None:
        asked = self._admin().describe_cluster(request_timeout=TIMEOUT_SECONDS)
        try:
            found = asked.result().cluster_id
        except KafkaException as error:
            # Negative ones are the client's own: nobody answered. A broker that says no is there, and may stay unnamed.
            if error.args[0].code() < 0:
                raise
            return None
        return str(found) if found else None

    def _admin(self) -> AdminClient:
        if self._client is None:
            self._client = self._make_client()
        return self._client


def topics_of(pipeline: Pipeline, place: Place) -> Topics:
    sources = [source for source in pipeline.sources if isinstance(source, TopicSource)]
    settings = connection(place)
    return Topics(
        lambda: AdminClient(settings),
        place.bootstrap,
        named={topic for source in sources for topic in source.topics},
        patterns=[source.pattern for source in sources if source.pattern is not None],
    )
