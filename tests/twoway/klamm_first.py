"""The story of a data directory that klamm begins: Kafka takes it over, klamm again, is killed, and Kafka goes on.

Kafka's own tool formats it, with voters that are kept in the log (KIP-853).
"""

from pathlib import Path

from support.brokers import CLUSTER_ID
from support.kafka_jars import run_java
from twoway.home import Home
from twoway.usual_life import UsualLife


class KlammFirst:
    def __init__(self, path: Path) -> None:
        self.home = Home(path, "data")
        self.life = UsualLife(self.home)
        self._format()
        self.home.klamm(self.life.begin)
        self.as_klamm_left_it = self.home.save("as-klamm-left-it")
        self.home.kafka(self.life.go_on)
        self.home.klamm(self.life.go_on, is_killed=True)
        self.home.kafka(self.life.go_on)
        self.home.klamm(self.life.go_on)

    def _format(self) -> None:
        config = self.home.config
        voters, servers = "controller.quorum.voters=1@", "controller.quorum.bootstrap.servers="
        config.write_text(config.read_text().replace(voters, servers))
        words = ("format", "--standalone", "-t", CLUSTER_ID, "-c", str(config))
        run_java("kafka.tools.StorageTool", *words)
