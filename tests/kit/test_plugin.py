"""The pytest plugin, as a project sees it that has nothing but klamm and its own tests."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from klamm.testing import Broker


def run_pytest(home: Path, *options: str, env: dict[str, str] | None = None) -> str:
    """What it printed; in a process of its own, with no ini file of ours."""
    (home / "pytest.ini").touch()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", *options],
        cwd=home,
        env={name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
        | (env or {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return done.stdout + done.stderr


def write(home: Path, name: str, text: str) -> None:
    (home / name).write_text(textwrap.dedent(text))


def test_fixtures_give_each_test_an_empty_broker_and_a_topic_of_its_own(tmp_path: Path) -> None:
    write(
        tmp_path,
        "test_orders.py",
        """
        import pytest

        pytestmark = pytest.mark.kafka(topics={"orders": 2})
        seen = set()

        @pytest.mark.parametrize("round", [1, 2])
        def test_empty(kafka_broker, kafka_records, round):
            assert kafka_records("orders") == []
            kafka_broker.produce("orders", ["x"])
            seen.add(kafka_broker.port)
            assert len(seen) == 1

        @pytest.mark.kafka(partitions=3)
        def test_topic(kafka_topic, kafka_broker):
            assert len({each.partition for each in kafka_topic.produce([(str(n), "x") for n in range(99)])}) == 3
            assert kafka_broker.topics() == ["orders", kafka_topic]

        @pytest.mark.kafka(topics={"orders": {"partitions": 1, "cleanup.policy": "compact"}})
        def test_marker_of_the_test_wins(kafka_broker):
            kafka_broker.produce("orders", [("k", "1"), ("k", "2")])
            kafka_broker.clean()
            assert [each.text for each in kafka_broker.records("orders")] == ["2"]

        @pytest.mark.kafka(settings={"auto.create.topics.enable": False}, process=True)
        def test_broker_of_its_own(kafka_broker):
            import os
            assert kafka_broker.pid != os.getpid()
            assert kafka_broker.port not in seen
        """,
    )

    assert "5 passed" in run_pytest(tmp_path)


def test_scope_is_what_the_ini_file_or_the_command_line_says(tmp_path: Path) -> None:
    for name in ("test_a.py", "test_b.py"):
        write(
            tmp_path,
            name,
            """
            import pytest

            @pytest.mark.parametrize("round", range(2))
            def test_goes_on(kafka_broker, round):
                kafka_broker.topic("orders").produce(["x"])
                print("COUNT", len(kafka_broker.records("orders")))
            """,
        )

    def counts(*options: str) -> list[str]:
        lines = run_pytest(tmp_path, "-s", *options).replace(".", "").splitlines()
        return [line.split()[1] for line in lines if line.startswith("COUNT")]

    assert counts("--klamm-scope=session") == ["1", "2", "3", "4"]
    assert counts("-o", "klamm_scope=module") == ["1", "2", "1", "2"]


def test_each_worker_of_xdist_has_its_own_broker(tmp_path: Path) -> None:
    write(
        tmp_path,
        "test_many.py",
        """
        import json, os, pathlib, pytest

        @pytest.mark.parametrize("round", range(12))
        def test_it(kafka_broker, round):
            kafka_broker.topic("orders").produce(["x"])
            assert len(kafka_broker.records("orders")) == 1
            told = {"worker": os.environ["PYTEST_XDIST_WORKER"], "port": kafka_broker.port}
            pathlib.Path(f"told-{round}").write_text(json.dumps(told))
        """,
    )

    assert "12 passed" in run_pytest(tmp_path, "-n", "2")

    told = {
        (each["worker"], each["port"])
        for each in (json.loads(path.read_text()) for path in tmp_path.glob("told-*"))
    }
    assert len({worker for worker, _ in told}) == len(told) == 2


def test_a_failure_is_reported_with_requests_log_and_topics(tmp_path: Path) -> None:
    write(
        tmp_path,
        "test_fails.py",
        """
        import logging, pytest

        @pytest.mark.kafka(topics=["orders"])
        def test_fails(kafka_broker):
            logging.getLogger("klamm").setLevel("INFO")
            kafka_broker.restart()
            kafka_broker.produce("orders", [("id-1", "something")])
            from confluent_kafka.admin import AdminClient
            AdminClient({"bootstrap.servers": kafka_broker.bootstrap_servers}).list_topics("orders")
            assert kafka_broker.records("orders") == []

        def test_without_kafka():
            assert False
        """,
    )

    said = run_pytest(tmp_path)

    ours, _, other = said.partition("test_without_kafka ___")
    assert "Metadata v" in ours.partition("klamm: requests")[2]
    assert "stopping: node=" in ours.partition("klamm: broker log")[2]
    assert "orders: 1 records in 1 partitions\n    orders-0@0 id-1: something" in ours
    assert "klamm:" not in other


def test_the_same_tests_run_against_another_cluster(tmp_path: Path) -> None:
    write(
        tmp_path,
        "test_either.py",
        """
        import pytest

        @pytest.mark.kafka(topics={"orders": 1})
        def test_any_kafka(kafka_broker, kafka_topic):
            kafka_topic.produce(["x"])
            kafka_topic.expect().contains("x")
            assert "orders" in kafka_broker.topics()

        def test_only_klamm(kafka_broker):
            kafka_broker.clock.advance(hours=1)

        def test_only_a_cluster_of_the_kit(kafka_cluster):
            kafka_cluster.kill(1)
        """,
    )
    with Broker() as elsewhere:
        said = run_pytest(tmp_path, env={"KLAMM_BOOTSTRAP": elsewhere.bootstrap_servers})

        assert "1 passed, 2 skipped" in said
        assert "clock needs a broker of klamm's test kit" in said
        assert "orders" in elsewhere.topics()


def test_a_wrong_option_is_told(tmp_path: Path) -> None:
    write(
        tmp_path,
        "test_wrong.py",
        """
        import pytest

        @pytest.mark.kafka(topic="orders")
        def test_it(kafka_broker):
            pass
        """,
    )

    assert "the marker kafka knows no topic" in run_pytest(tmp_path)


def test_unittest_has_a_broker_for_each_class(tmp_path: Path) -> None:
    write(
        tmp_path,
        "test_case.py",
        """
        import unittest
        from klamm.testing import KafkaMixin

        class TestOrders(KafkaMixin, unittest.TestCase):
            kafka_topics = {"orders": 1}

            def test_a(self):
                self.kafka.produce("orders", ["x"])
                self.kafka.expect("orders").equals("x")

            def test_b(self):
                self.assertEqual(self.kafka.records("orders"), [])

        if __name__ == "__main__":
            unittest.main()
        """,
    )

    done = subprocess.run(
        [sys.executable, "-W", "error", tmp_path / "test_case.py"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "Ran 2 tests" in done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.cluster
def test_a_cluster_is_whole_again_for_the_next_test(tmp_path: Path) -> None:
    write(
        tmp_path,
        "test_cluster.py",
        """
        import pytest

        pytestmark = pytest.mark.kafka(topics={"orders": 1})

        @pytest.mark.parametrize("round", [1, 2])
        def test_kills(kafka_cluster, round):
            assert kafka_cluster.running == [1, 2, 3]
            assert kafka_cluster.records("orders") == []
            kafka_cluster.produce("orders", ["x"])
            kafka_cluster.kill(2)
            kafka_cluster.expect("orders").contains("x")
        """,
    )

    assert "2 passed" in run_pytest(tmp_path)
