"""Three nodes of one kind, klamm or Apache Kafka, as one cluster on this machine."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from oracle.cases.case import Ask
from oracle.stage import Stage
from support.brokers import (
    CLUSTER_ID,
    HOST,
    Broker,
    free_port,
    start_kafka,
    start_klamm,
    write_kafka_config,
)
from support.patience import eventually

NODES = (1, 2, 3)


class ThreeNodes:
    """Asked through its first node; `kill` is for the others."""

    def __init__(self, start: Callable[[Path, Path], Broker]) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="three-test-"))
        ports = {each: (free_port(), free_port()) for each in NODES}
        voters = ",".join(f"{each}@{HOST}:{ports[each][1]}" for each in NODES)

        def start_one(number: int) -> Broker:
            home, (clients, controllers) = self.home / str(number), ports[number]
            settings = {
                "node.id": number,
                "controller.quorum.voters": voters,
                "listeners": f"PLAINTEXT://{HOST}:{clients},CONTROLLER://{HOST}:{controllers}",
                "broker.session.timeout.ms": 3_000,
                "broker.heartbeat.interval.ms": 500,
            }
            return start(home, write_kafka_config(home, settings))

        with ThreadPoolExecutor(len(NODES)) as pool:
            self.nodes = dict(zip(NODES, pool.map(start_one, NODES), strict=True))
        self.stage = Stage(self.nodes[1].address)
        self.wait_for([1, 2, 3])

    def ask(self, api: str, values: dict[str, Any], version: int | None = None) -> Any:
        return self.stage.ask(Ask(api, values), version=version, fresh="")

    def kill(self, number: int) -> None:
        self.nodes[number].kill()
        self.wait_for([each for each in NODES if each != number])

    def wait_for(self, brokers: list[int]) -> None:
        def look() -> None:
            answer = self.ask("metadata", {"topics": []})
            assert sorted(each["node_id"] for each in answer["brokers"]) == brokers

        eventually(look)

    def close(self) -> None:
        for node in self.nodes.values():
            node.kill()
        shutil.rmtree(self.home, ignore_errors=True)


def three_of_kafka() -> ThreeNodes:
    return ThreeNodes(lambda home, _: start_kafka(home=home))


def three_of_klamm() -> ThreeNodes:
    def start(home: Path, config: Path) -> Broker:
        klamm = Path(sys.executable).with_name("klamm")
        words = ("storage", "format", "--cluster-id", CLUSTER_ID, "--config", str(config))
        subprocess.run([str(klamm), *words], check=True, stdout=subprocess.DEVNULL)
        return start_klamm(home=home, config=config)

    return ThreeNodes(start)
