"""acks=0, acks=1 and acks=all, and what each can lose: the followers sleep, the leader goes on writing, and dies."""

from examples.cluster.clients import Writer, numbers_in, spans
from examples.cluster.scene import Scene, a_scene, promise

ACKS = ("0", "1", "all")
BEFORE, MEANWHILE = 10, 5
# Nobody is taken for dead or for late while the story plays.
PATIENT = {"replica.lag.time.max.ms": 120_000, "broker.session.timeout.ms": 120_000}


def play() -> None:
    with a_scene(roles="cbbb", settings=PATIENT) as scene:
        scene.tell("a controller, three brokers; a topic for each acks, led by broker 2")
        for acks in ACKS:
            scene.create(f"acks-{acks}", (2, 3, 4), min_insync_replicas=1)
        writers = {acks: _writer(scene, acks) for acks in ACKS}
        for acks, writer in writers.items():
            writer.write(BEFORE)
            # Whoever asks for all knows that the followers have what came before it, too.
            _writer(scene, "all", topic=f"acks-{acks}").write(1)
        scene.tell(f"{BEFORE} records in each, on all three brokers")
        scene.put_to_sleep(3, 4)
        # The followers' fetches that wait at the leader take one record more. After it nobody fetches.
        _writer(scene, "1", topic="acks-1").write(1)
        for writer in writers.values():
            writer.write(MEANWHILE)
        scene.tell(f"{MEANWHILE} more in each; only broker 2 is awake to take them:")
        for acks, writer in writers.items():
            scene.tell(f"  acks={acks:<3} acknowledged: {spans(writer.acknowledged)}")
        scene.kill(2)
        scene.wake(3, 4)
        for acks, writer in writers.items():
            _count(scene, acks, writer)


def _writer(scene: Scene, acks: str, *, topic: str | None = None) -> Writer:
    # With acks=all a record that nobody acknowledges is given up after this time.
    more = {"message.timeout.ms": 3000} if topic is None and acks == "all" else {}
    return Writer(scene.cluster.bootstrap, topic or f"acks-{acks}", acks=acks, settings=more)


def _count(scene: Scene, acks: str, writer: Writer) -> None:
    scene.wait(f"acks-{acks}", lambda now: now.leader in (3, 4))
    found = set(numbers_in(scene.cluster.bootstrap, f"acks-{acks}"))
    lost = writer.acknowledged - found
    word = "taken for written by the client" if acks == "0" else "acknowledged"
    scene.tell(f"acks={acks:<3} lost although {word}: {spans(lost)}")
    promise(set(range(BEFORE)) <= found, "what all three had is there")
    if acks == "all":
        promise(not lost, f"acks=all loses nothing that it acknowledged, but {spans(lost)}")
    else:
        promise(bool(lost), "the leader took what no follower had, and it is gone with it")
