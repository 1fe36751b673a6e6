"""The leader dies while others are in sync. One of them leads, clients go on, and nothing that was acknowledged is lost."""

from examples.cluster.clients import Writer, numbers_in
from examples.cluster.scene import Scene, a_scene, promise

TOPIC = "orders"


def play() -> None:
    with a_scene(roles="xxx") as scene:
        scene.tell("three brokers; each is a controller, too")
        scene.create(TOPIC, (1, 2, 3), min_insync_replicas=2)
        writer = Writer(scene.cluster.bootstrap, TOPIC)
        writer.write(100)
        before = scene.wait(TOPIC, lambda now: now.leader is not None)
        scene.tell(f"100 records acknowledged by all in sync (acks=all); {before}")
        _kill_and_go_on(scene, writer, before.leader or 0)
        scene.start(before.leader or 0)
        scene.tell(f"it fetches what it missed: {scene.wait_until_in_sync(TOPIC, (1, 2, 3))}")
        found = numbers_in(scene.cluster.bootstrap, TOPIC)
        scene.tell(f"read back: {len(found)} records, each once, in order")
        promise(found == list(range(200)), f"200 records in order, not {found}")


def _kill_and_go_on(scene: Scene, writer: Writer, leader: int) -> None:
    scene.kill(leader)
    # Whoever writes hears that the broker is gone, asks who leads now, and sends again.
    writer.write(1)
    after = scene.wait(TOPIC, lambda now: now.leader not in (None, leader))
    scene.tell(f"the next record is acknowledged already; {after}")
    promise(leader not in after.in_sync, "who is dead is not in sync")
    writer.write(99)
    scene.tell("99 more acknowledged: two of three are enough (min.insync.replicas=2)")
    promise(len(writer.acknowledged) == 200, f"200 acknowledged, not {len(writer.acknowledged)}")
