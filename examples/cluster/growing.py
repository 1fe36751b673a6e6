"""A broker is added and takes over partitions from others while somebody writes to them all the time. No write fails."""

import subprocess
import sys
from pathlib import Path

from examples.cluster.clients import Writer, numbers_in
from examples.cluster.scene import Broken, Scene, a_scene, promise

TOPIC = "orders"


def play() -> None:
    with a_scene(roles="xbbb", running=(1, 2, 3)) as scene:
        scene.tell("three brokers; a fourth is prepared and does not run yet")
        scene.create(TOPIC, (1, 2), (2, 3), (3, 1), min_insync_replicas=1)
        writer = Writer(scene.cluster.bootstrap, TOPIC)
        writer.write(100)
        _show(scene)
        with writer.writing_all_the_time():
            scene.tell("from here on somebody writes all the time")
            scene.start(4)
            scene.tell(
                "it is part of the cluster and has no partition: Kafka moves nothing by itself"
            )
            _klamm(scene, "cluster", "reassign", TOPIC, "--to", "4,3", "--wait")
            _show(scene)
        scene.tell(
            f"{writer.sent} records sent, {len(writer.acknowledged)} acknowledged, none refused"
        )
        promise(not writer.refused, f"no write failed, but {dict(writer.refused)}")
        found = numbers_in(scene.cluster.bootstrap, TOPIC)
        scene.tell(f"read back: {len(found)} records, each once, in order")
        promise(found == list(range(writer.sent)), "all that was written is there in order")


def _show(scene: Scene) -> None:
    for partition in range(3):
        state = scene.wait(TOPIC, lambda now: now.leader is not None, partition)
        scene.tell(f"  partition {partition}: {state}")


def _klamm(scene: Scene, *words: str) -> None:
    scene.tell(f"$ klamm {' '.join(words)}")
    klamm = Path(sys.executable).with_name("klamm")
    command = [str(klamm), *words, "-b", scene.cluster.bootstrap]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise Broken(f"`klamm {' '.join(words)}` failed")
