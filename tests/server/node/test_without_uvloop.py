"""Where there is no uvloop a broker runs on asyncio's own loop, and does all the same."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer

from klamm.testing import External
from support.patience import eventually

WITHOUT = (
    "import sys; sys.modules['uvloop'] = None\n"
    "from klamm.cli.app import main\n"
    "sys.argv = ['klamm', 'serve', '--port', '0', '--memory', '--json', '--end-with-stdin',"
    " '--set', 'group.initial.rebalance.delay.ms=0']\n"
    "main()"
)


@pytest.fixture
def broker() -> Iterator[External]:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", WITHOUT], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        yield External(json.loads(process.stdout.readline())["address"])
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_records_transactions_and_groups(broker: External) -> None:
    broker.topic("orders", 2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "mine"})
    producer.init_transactions(30)
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce("orders", b"x" * 300_000, key=b"k")
        end(30)

    assert len(broker.records("orders")) == 1
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])

    def read() -> None:
        message = consumer.poll(0.1)
        assert message is not None
        assert len(message.value() or b"") == 300_000

    eventually(read)
    consumer.commit(asynchronous=False)
    broker.assert_lag("readers", 0)
    consumer.close()


def test_importing_a_broker_imports_nothing_that_only_posix_has() -> None:
    code = (
        "import sys\n"
        "for name in ('fcntl', 'resource', 'uvloop', 'termios', 'pwd'): sys.modules[name] = None\n"
        "import klamm.server.process, klamm.cli.serve, klamm.testing\n"
        "from klamm.testing import Broker"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
