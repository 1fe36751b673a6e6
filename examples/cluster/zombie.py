"""A leader falls asleep, is replaced, and wakes up believing that it still leads. Its epoch is old: nobody in sync follows
it any more, so it cannot acknowledge anything, and it becomes a follower."""

from examples.cluster.clients import Writer, numbers_in
from examples.cluster.scene import a_scene, promise

TOPIC = "orders"
SESSION_SECONDS = 3


def play() -> None:
    settings = {"broker.session.timeout.ms": SESSION_SECONDS * 1000}
    with a_scene(roles="cbbb", settings=settings) as scene:
        scene.tell(
            f"a controller, three brokers; who is silent for {SESSION_SECONDS} s is taken for dead"
        )
        scene.create(TOPIC, (2, 3, 4), min_insync_replicas=2)
        writer = Writer(scene.cluster.bootstrap, TOPIC, settings={"socket.timeout.ms": 2000})
        writer.write(20)
        scene.tell(f"20 records acknowledged; {scene.state(TOPIC)}")
        scene.put_to_sleep(2)
        # Its connections stay open, so nobody hears that it is gone: only its silence tells.
        state = scene.wait(TOPIC, lambda now: now.leader not in (None, 2))
        scene.tell(f"after {SESSION_SECONDS} s without a heartbeat: {state}")
        writer.write(20)
        scene.tell("20 more acknowledged by the new leader")
        scene.wake(2)
        writer.write(20)
        state = scene.wait_until_in_sync(TOPIC, (2, 3, 4))
        scene.tell(f"20 more; the old leader has learnt of the new epoch and follows: {state}")
        found = numbers_in(scene.cluster.bootstrap, TOPIC)
        scene.tell(f"read back: {len(found)} records, each once, in order")
        promise(len(writer.acknowledged) == 60, "each record was acknowledged")
        promise(found == list(range(60)), f"60 records in order, not {found}")
