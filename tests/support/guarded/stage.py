"""A secured broker, klamm or Kafka, that is asked as one user or another."""

from functools import partial
from typing import Any

from klamm.base.ids import Uuid
from klamm.protocol.apis import API_BY_NAME
from klamm.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from klamm.protocol.messages.sasl_handshake import SaslHandshakeRequest
from support.guarded.case import filled_in
from support.guarded.table import TRIALS, Trial, acls, topics
from support.patience import eventually
from support.plain_messages import build, plain
from support.raw_client import ConnectionClosed, RawClient

ADMIN = "admin"
PASSWORD = "secret"
CLOSED = {"the broker": "closed the connection"}
_USERS = " ".join(
    f'user_{user}="{PASSWORD}"' for user in (ADMIN, *(trial.user for trial in TRIALS))
)
JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="{ADMIN}" password="{PASSWORD}" {_USERS};'
)
SETTINGS: dict[str, object] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # Nodes come to the controller's own listener without a name; there it is only they who come.
    "super.users": f"User:{ADMIN};User:ANONYMOUS",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "listener.name.plaintext.plain.sasl.jaas.config": JAAS,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "log.initial.task.delay.ms": 24 * 3_600_000,
}


class SecuredStage:
    def __init__(self, address: str) -> None:
        self.address = address
        self._ids: dict[str, Uuid] = {}
        self._prepare()

    def ask(self, user: str, api: str, values: dict[str, Any], version: int | None = None) -> Any:
        """The plain answer; CLOSED when the broker hung up."""
        row = API_BY_NAME[api]
        version = row.highest_stable if version is None else version
        request = build(row.request, filled_in(values, user, self._ids))
        with RawClient(self.address) as client:
            _log_in(client, user)
            try:
                return plain(client.ask(api, version, request), version)
            except ConnectionClosed:
                return CLOSED

    def try_(self, trial: Trial) -> Any:
        return self.ask(trial.user, trial.case.api, trial.case.values, trial.case.version)

    def _prepare(self) -> None:
        """All topics, rules, a group and a transaction that somebody may or may not see."""
        wanted = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in topics()]
        self._ask_well("create_topics", {"topics": wanted, "timeout_ms": 30_000})
        self._ask_well("create_acls", {"creations": acls()})
        eventually(self._learn_ids)
        eventually(self._see_acls)
        eventually(lambda: self._find(0, "a-group"))
        eventually(lambda: self._find(1, "a-transaction"))
        partition = {"partition_index": 0, "committed_offset": 1}
        committed = [{"topic_id": self._ids[topics()[0]], "partitions": [partition]}]
        for group in ("a-group", "b-group"):
            commit = {"group_id": group, "topics": committed}
            eventually(partial(self._ask_well, "offset_commit", commit))
        init = {"transactional_id": "a-transaction", "transaction_timeout_ms": 60_000}
        eventually(lambda: self._ask_well("init_producer_id", init))

    def _ask_well(self, api: str, values: dict[str, Any]) -> Any:
        answer = self.ask(ADMIN, api, values)
        assert "'error_code': 0" in repr(answer), answer
        return answer

    def _find(self, kind: int, key: str) -> None:
        self._ask_well("find_coordinator", {"key_type": kind, "coordinator_keys": [key]})

    def _learn_ids(self) -> None:
        asked = [{"name": name} for name in topics()]
        answer = self.ask(ADMIN, "metadata", {"topics": asked, "allow_auto_topic_creation": False})
        assert all(not topic["error_code"] for topic in answer["topics"])
        self._ids = {topic["name"]: topic["topic_id"] for topic in answer["topics"]}

    def _see_acls(self) -> None:
        anything = {
            "resource_type_filter": 1,
            "resource_name_filter": None,
            "pattern_type_filter": 1,
            "principal_filter": None,
            "host_filter": None,
            "operation": 1,
            "permission_type": 1,
        }
        answer = self.ask(ADMIN, "describe_acls", anything)
        assert sum(len(each["acls"]) for each in answer["resources"]) == len(acls())


def _log_in(client: RawClient, user: str) -> None:
    handshake = client.ask("sasl_handshake", 1, SaslHandshakeRequest(mechanism="PLAIN"))
    assert handshake.error_code == 0
    token = f"\0{user}\0{PASSWORD}".encode()
    answer = client.ask("sasl_authenticate", 2, SaslAuthenticateRequest(auth_bytes=token))
    assert answer.error_code == 0, answer
