"""All replicas that are in sync are gone, and one comes back that is not. Wait for the others, or let it lead and lose
what only they had? `unclean.leader.election.enable` decides: safe says no, bold says yes."""

from examples.cluster.clients import Writer, numbers_in, spans
from examples.cluster.scene import Scene, a_scene, promise

SAFE, BOLD = "safe", "bold"


def play() -> None:
    # One controller apart, so that all brokers may die and somebody still decides.
    with a_scene(roles="cbbb") as scene:
        scene.tell(
            "a controller, and the brokers 2, 3 and 4; two topics with replicas on all of them"
        )
        scene.create(SAFE, (2, 3, 4), min_insync_replicas=1)
        scene.create(BOLD, (2, 3, 4), min_insync_replicas=1, unclean_leader_election_enable="true")
        writers = {topic: Writer(scene.cluster.bootstrap, topic) for topic in (SAFE, BOLD)}
        _write_ten(scene, writers, "on all three brokers")
        scene.kill(3, 4)
        for topic in writers:
            scene.wait_until_in_sync(topic, (2,))
        _write_ten(scene, writers, "on broker 2 alone")
        scene.kill(2)
        scene.start(3)
        _bold_goes_on(scene)
        _safe_waits(scene)


def _write_ten(scene: Scene, writers: dict[str, Writer], where: str) -> None:
    for writer in writers.values():
        writer.write(10)
    scene.tell(f"{spans(set(range(writer.sent - 10, writer.sent)))} written to both: {where}")


def _bold_goes_on(scene: Scene) -> None:
    state = scene.wait(BOLD, lambda now: now.leader == 3)
    found = numbers_in(scene.cluster.bootstrap, BOLD)
    lost = set(range(20)) - set(found)
    scene.tell(
        f"{BOLD}: {state}. It has {spans(set(found))}; lost although acknowledged: {spans(lost)}"
    )
    promise(found == list(range(10)), f"what broker 3 had and not more is left, not {found}")


def _safe_waits(scene: Scene) -> None:
    state = scene.wait(SAFE, lambda now: now.leader is None)
    scene.tell(f"{SAFE}: {state}. It waits for broker 2")
    scene.start(2)
    state = scene.wait(SAFE, lambda now: now.leader == 2)
    found = numbers_in(scene.cluster.bootstrap, SAFE)
    scene.tell(f"{SAFE}: {state}. It has {spans(set(found))}; nothing is lost")
    promise(found == list(range(20)), f"all twenty are there, not {found}")
