"""Foreign clients by TLS, and with certificates of their own: each writes a record and reads it back."""

import asyncio
import os
import shutil
import ssl
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support import cache, kafka_jars, tools
from support.brokers import Broker, free_port, start_klamm
from support.tls.certificates import Certificates, Keys

with warnings.catch_warnings():
    # It reads its own schemas in a way that Python calls old.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer

pytestmark = pytest.mark.compat

HERE = Path(__file__).parent
GO = HERE.parent / "go"
KAFKAJS = HERE.parent / "kafkajs"


@dataclass
class Stage:
    broker: Broker
    certificates: Certificates
    ann: Keys
    mutual_address: str

    def address(self, *, mutual: bool) -> str:
        return self.mutual_address if mutual else self.broker.address

    def keys(self, *, mutual: bool) -> Keys | None:
        return self.ann if mutual else None

    def context(self, *, mutual: bool) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.certificates.ca)
        if mutual:
            context.load_cert_chain(self.ann.store)
        return context

    def files(self, *, mutual: bool) -> list[str]:
        """For programs: the authority, and what is their own."""
        own = [self.ann.certificate, self.ann.key] if mutual else []
        return [str(each) for each in (self.certificates.ca, *own)]

    def java(self, folder: Path, *, mutual: bool) -> Path:
        lines = [
            "security.protocol=SSL",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={self.certificates.ca}",
        ]
        if mutual:
            lines += ["ssl.keystore.type=PEM", f"ssl.keystore.location={self.ann.store}"]
        file = folder / "client.properties"
        file.write_text("\n".join(lines) + "\n")
        return file


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    certificates = Certificates(tmp_path_factory.mktemp("certificates"))
    mutual = f"127.0.0.1:{free_port()}"
    broker = start_klamm(
        settings={
            "listeners": f"SSL://127.0.0.1:9092,MUTUAL://{mutual}",
            "listener.security.protocol.map": "SSL:SSL,MUTUAL:SSL",
            "security.inter.broker.protocol": "SSL",
            "listener.name.mutual.ssl.client.auth": "required",
            "group.initial.rebalance.delay.ms": 0,
            **certificates.broker_settings(certificates.issue("server")),
        }
    )
    yield Stage(broker, certificates, certificates.issue("ann"), mutual)
    broker.stop()


@pytest.fixture
def topic(stage: Stage) -> str:
    name = f"tls-{uuid4().hex[:8]}"
    settings = {"bootstrap.servers": stage.broker.address, **stage.certificates.librdkafka()}
    admin = AdminClient(settings)
    (made,) = admin.create_topics([NewTopic(name, 1, 1)]).values()
    made.result(30)
    return name


MUTUAL = pytest.mark.parametrize("mutual", [False, True], ids=["tls", "mtls"])


@MUTUAL
def test_confluent_kafka(stage: Stage, topic: str, mutual: bool) -> None:
    settings = {
        "bootstrap.servers": stage.address(mutual=mutual),
        **stage.certificates.librdkafka(stage.keys(mutual=mutual)),
    }
    producer = Producer(settings)
    producer.produce(topic, b"from librdkafka")
    assert producer.flush(30) == 0

    consumer = Consumer({**settings, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = consumer.poll(30)
    consumer.close()

    assert message is not None
    assert message.value() == b"from librdkafka"


@MUTUAL
def test_aiokafka(stage: Stage, topic: str, mutual: bool) -> None:
    options = {
        "bootstrap_servers": stage.address(mutual=mutual),
        "security_protocol": "SSL",
        "ssl_context": stage.context(mutual=mutual),
    }

    async def there_and_back() -> bytes:
        async with AIOKafkaProducer(**options) as producer:
            await producer.send_and_wait(topic, b"from aiokafka")
        async with AIOKafkaConsumer(topic, auto_offset_reset="earliest", **options) as consumer:
            return (await consumer.getone()).value

    assert asyncio.run(asyncio.wait_for(there_and_back(), 60)) == b"from aiokafka"


@MUTUAL
def test_kafka_python(stage: Stage, topic: str, mutual: bool) -> None:
    options = {
        "bootstrap_servers": stage.address(mutual=mutual),
        "security_protocol": "SSL",
        "ssl_context": stage.context(mutual=mutual),
    }
    producer = KafkaProducer(**options)
    producer.send(topic, b"from kafka-python").get(30)
    producer.close()

    consumer = KafkaConsumer(topic, auto_offset_reset="earliest", **options)
    value = next(consumer).value
    consumer.close()

    assert value == b"from kafka-python"


@MUTUAL
def test_java(stage: Stage, topic: str, tmp_path: Path, mutual: bool) -> None:
    config = str(stage.java(tmp_path, mutual=mutual))
    where = ("--bootstrap-server", stage.address(mutual=mutual), "--topic", topic)

    kafka_jars.java_tool(
        "ConsoleProducer",
        *where,
        "--command-config",
        config,
        stdin="from Java\n",
    )
    read = kafka_jars.java_tool(
        "consumer.ConsoleConsumer",
        *where,
        *("--command-config", config, "--from-beginning", "--max-messages", "1"),
    )

    assert read.splitlines()[0] == "from Java"


@MUTUAL
def test_kafkajs(stage: Stage, topic: str, mutual: bool) -> None:
    node = tools.require("node", why="kafkajs runs on it")
    arguments = [stage.address(mutual=mutual), topic, *stage.files(mutual=mutual)]
    env = {**os.environ, "NODE_PATH": str(_modules())}

    printed = tools.run([node, HERE / "login.js", *arguments], env=env, timeout=60)

    assert printed == "from kafkajs\n"


@MUTUAL
def test_franz_go(stage: Stage, topic: str, mutual: bool) -> None:
    arguments = [stage.address(mutual=mutual), topic, *stage.files(mutual=mutual)]

    assert tools.run([_program(), *arguments], timeout=60) == "from franz-go\n"


def test_nobody_gets_in_without_a_certificate_where_one_is_required(stage: Stage) -> None:
    settings = {"bootstrap.servers": stage.mutual_address, **stage.certificates.librdkafka()}

    with pytest.raises(KafkaException):
        AdminClient({**settings, "log_level": 0}).list_topics(timeout=3)


def _modules() -> Path:
    npm = tools.require("npm", why="it brings kafkajs")
    lock = KAFKAJS / "package-lock.json"

    def install(target: Path) -> None:
        shutil.copy(lock, target)
        shutil.copy(KAFKAJS / "package.json", target)
        tools.download([npm, "ci", "--no-audit", "--no-fund"], what="kafkajs", cwd=target)

    fingerprint = cache.fingerprint(lock.read_bytes())
    return cache.directory(f"kafkajs-{fingerprint}", install) / "node_modules"


def _program() -> Path:
    go = tools.require("go", why="franz-go is built with it")
    sources = [GO / name for name in ("go.mod", "go.sum", "login/main.go")]

    def build(target: Path) -> None:
        tools.download([go, "mod", "download"], what="franz-go", cwd=GO)
        command: list[str | Path] = [go, "build", "-mod=readonly", "-buildvcs=false"]
        tools.run([*command, "-o", target / "login", "./login"], timeout=300, cwd=GO)

    fingerprint = cache.fingerprint(*(source.read_bytes() for source in sources))
    return cache.directory(f"franz-go-login-{fingerprint}", build) / "login"
