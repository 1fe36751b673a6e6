"""KafkaContainer: a suite that was written for testcontainers moves by one import, and needs no Docker.

    from klamm.testing import KafkaContainer

What is about images, volumes and networks is taken and does nothing: there is no container.
"""

from __future__ import annotations

from typing import Any, Self

from klamm.testing.kit.broker import Broker

_PREFIX = "KAFKA_"
# Of the image, its virtual machine, or where it listens: here that is the kit's affair.
_NOT_SETTINGS = (
    "ADVERTISED",
    "BROKER_ID",
    "CONTROLLER_",
    "HEAP_OPTS",
    "INTER_BROKER",
    "JMX",
    "JVM",
    "LISTENER",
    "LOG4J",
    "NODE_ID",
    "OPTS",
    "PROCESS_ROLES",
    "ZOOKEEPER",
)


class KafkaContainer:
    """`broker` is the kit's own broker behind it, with all that it can do."""

    def __init__(self, image: str = "klamm", port: int = 9093, **_: Any) -> None:
        self.image = image
        self.port = port
        self.env: dict[str, str] = {}
        self.broker: Broker

    # What it is to be.

    def with_env(self, key: str, value: object) -> Self:
        """KAFKA_LOG_RETENTION_MS is log.retention.ms, as in Kafka's images."""
        self.env[key] = str(value)
        return self

    def with_envs(self, **values: object) -> Self:
        for key, value in values.items():
            self.with_env(key, value)
        return self

    def with_kraft(self) -> Self:
        return self

    def with_cluster_id(self, cluster_id: str) -> Self:
        return self

    def _accept(self, *_: object, **__: object) -> Self:
        return self

    with_bind_ports = with_command = with_exposed_ports = with_kwargs = with_name = _accept
    with_network = with_network_aliases = with_user = with_volume_mapping = _accept

    # Coming and going.

    def start(self, timeout: float = 30) -> Self:
        self.broker = Broker(settings=self._settings()).start()
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:
        self.broker.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Where it is.

    def get_bootstrap_server(self) -> str:
        return self.broker.bootstrap_servers

    def get_container_host_ip(self) -> str:
        return self.broker.bootstrap_servers.rpartition(":")[0]

    def get_exposed_port(self, port: int) -> int:
        return self.broker.port

    def get_logs(self) -> tuple[bytes, bytes]:
        """stdout and stderr; the broker logs to the second."""
        return b"", self.broker.log().encode()

    def _settings(self) -> dict[str, object]:
        return {
            _setting(name.removeprefix(_PREFIX)): value
            for name, value in self.env.items()
            if name.startswith(_PREFIX) and not name.removeprefix(_PREFIX).startswith(_NOT_SETTINGS)
        }


def _setting(name: str) -> str:
    """As Kafka's images read it: two underscores are one, three are a dash."""
    return name.lower().replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")
