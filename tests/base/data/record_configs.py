"""Asks a running Apache Kafka about its settings and keeps the answers beside this file.

    python tests/base/data/record_configs.py 127.0.0.1:19292

The broker must have been formatted and started anew with recorded.properties. The script changes a few dynamic settings
(DYNAMIC) before it asks; the questions about wrong values (QUESTIONS) are asked with validate_only. It speaks old, simple
request versions by hand, so that the oracle owes nothing to the code under test.
"""

import json
import socket
import struct
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from config_questions import BROKER, CLIENT_METRICS, GROUP, QUESTIONS, TOPIC

HERE = Path(__file__).parent
NAME = "settings-recorded"
SET = 0


def text(value: str | None) -> bytes:
    return b"\xff\xff" if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def array(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return struct.pack(">i", len(parts)) + b"".join(parts)


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return int(value)

    def text(self) -> str | None:
        size = self.take("h")
        if size < 0:
            return None
        self.at += size
        return self.data[self.at - size : self.at].decode()


class Kafka:
    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=20)

    def ask(self, api: int, version: int, body: bytes) -> Reader:
        request = struct.pack(">hhi", api, version, 7) + text("record") + body
        self.socket.sendall(struct.pack(">i", len(request)) + request)
        size = struct.unpack(">i", self.read(4))[0]
        return Reader(self.read(size)[4:])

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self.socket.recv(size - len(data))
        return data

    def describe(self, kind: int, name: str) -> list[dict[str, object]]:
        resource = struct.pack(">b", kind) + text(name) + struct.pack(">i", -1)
        answer = self.ask(32, 3, array([resource]) + b"\x01\x00")
        answer.take("i"), answer.take("i")
        code, message = answer.take("h"), answer.text()
        assert code == 0, message
        answer.take("b"), answer.text()
        return [self.entry(answer) for _ in range(answer.take("i"))]

    def entry(self, answer: Reader) -> dict[str, object]:
        name, value, read_only, source = (
            answer.text(),
            answer.text(),
            answer.take("b"),
            answer.take("b"),
        )
        sensitive = answer.take("b")
        synonyms = [
            (answer.text(), answer.text(), answer.take("b")) for _ in range(answer.take("i"))
        ]
        kind = answer.take("b")
        answer.text()
        return {
            "name": name,
            "value": value,
            "read_only": bool(read_only),
            "source": source,
            "sensitive": bool(sensitive),
            "type": kind,
            "synonyms": synonyms,
        }

    def alter(
        self,
        kind: int,
        resource: str,
        changes: list[tuple[str, int, str | None]],
        only: bool = True,
    ) -> list[object]:
        configs = array(
            text(name) + struct.pack(">b", op) + text(value) for name, op, value in changes
        )
        body = array([struct.pack(">b", kind) + text(resource) + configs]) + (
            b"\x01" if only else b"\x00"
        )
        return self.verdict(44, 0, body)

    def verdict(self, api: int, version: int, body: bytes) -> list[object]:
        answer = self.ask(api, version, body)
        answer.take("i"), answer.take("i")
        return [answer.take("h"), answer.text()]

    def create_topic(
        self, name: str, configs: list[tuple[str, str | None]], only: bool = True
    ) -> list[object]:
        entries = array(text(key) + text(value) for key, value in configs)
        topic = text(name) + struct.pack(">ih", 1, 1) + array([]) + entries
        answer = self.ask(19, 4, array([topic]) + struct.pack(">ib", 10_000, only))
        answer.take("i"), answer.take("i"), answer.text()
        return [answer.take("h"), answer.text()]


DYNAMIC: list[tuple[int, str, list[tuple[str, str]]]] = [
    (BROKER, "1", [("log.retention.ms", "5000"), ("log.cleaner.threads", "2")]),
    (BROKER, "1", [("listener.name.plaintext.max.connections", "600")]),
    (BROKER, "1", [("listener.name.plaintext.ssl.keystore.password", "secret")]),
    (BROKER, "1", [("leader.replication.throttled.rate", "1000"), ("custom.plugin.key", "x")]),
    (BROKER, "", [("log.retention.ms", "7000"), ("log.cleaner.threads", "3")]),
    (BROKER, "", [("log.cleaner.backoff.ms", "16000")]),
    (TOPIC, NAME, [("retention.ms", " 1000 "), ("cleanup.policy", "compact,compact,delete")]),
    (GROUP, NAME, [("consumer.session.timeout.ms", "50000")]),
    (CLIENT_METRICS, NAME, [("interval.ms", "60000")]),
]


def keep(name: str, rows: list[object]) -> None:
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (HERE / name).write_text(f"[\n{lines}\n]\n")


def main(address: str) -> None:
    kafka = Kafka(address)
    before = {"topic": (TOPIC, NAME), "broker": (BROKER, "1"), "cluster": (BROKER, "")}
    kafka.create_topic(NAME, [], only=False)
    for name, (kind, resource) in before.items():
        keep(f"{name}_configs.json", [*kafka.describe(kind, resource)])
    for kind, resource, changes in DYNAMIC:
        code, message = kafka.alter(kind, resource, [(n, SET, v) for n, v in changes], only=False)
        assert code == 0, message
    # Kafka answers when the change is in the metadata log; the broker applies it a moment later.
    time.sleep(2)
    for name, (kind, resource) in before.items():
        keep(f"{name}_configs_dynamic.json", [*kafka.describe(kind, resource)])
    keep("group_configs.json", [*kafka.describe(GROUP, NAME)])
    keep("client_metrics_configs.json", [*kafka.describe(CLIENT_METRICS, NAME)])
    answers = []
    for kind, resource, changes in QUESTIONS:
        answers.append(
            [
                kind,
                resource,
                changes,
                kafka.alter(kind, resource, [(n, SET, v) for n, v in changes]),
            ]
        )
    keep("verdicts.json", answers)


if __name__ == "__main__":
    main(sys.argv[1])
