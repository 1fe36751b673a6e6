"""One broker of a cluster under test."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from klamm.testing.kit.carriers import InProcess
from klamm.testing.kit.client import CLIENT_ID
from klamm.testing.kit.faults.faults import Faults
from klamm.testing.kit.rig import Plan
from klamm.testing.kit.transcript.exchange import Transcript


class Member:
    def __init__(
        self,
        number: int,
        *,
        settings: Mapping[str, str],
        data: str,
        ports: tuple[int, int],
        cluster_id: str,
    ) -> None:
        self.number = number
        # For clients, and for controllers.
        self.ports = ports
        self._plan = Plan(settings=settings, data=data, cluster_id=cluster_id)
        self._carrier: InProcess | None = None
        self.is_paused = False
        # Ports that it does not reach, also after a restart.
        self._away: Collection[int] = ()

    @property
    def is_running(self) -> bool:
        return self._carrier is not None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    @property
    def pid(self) -> int:
        return self._running.pid

    def start(self) -> None:
        """Back when it serves: as long as the quorum has no majority that is never."""
        if self._carrier is not None:
            raise RuntimeError(f"broker {self.number} runs already")
        self._carrier = InProcess(self._plan)
        self._carrier.call("cut", list(self._away))
        try:
            self._carrier.call("start")
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """It hands over and stops."""
        self._running.call("close")
        self.kill()

    def kill(self) -> None:
        """As kill -9 does."""
        carrier, self._carrier = self._carrier, None
        self.is_paused = False
        if carrier is not None:
            carrier.kill()

    def restart(self) -> None:
        if self.is_running:
            self.stop()
        self.start()

    def pause(self) -> None:
        """As SIGSTOP does: others wait for it. Nothing can be asked of it until `resume`."""
        self._running.pause()
        self.is_paused = True

    def resume(self) -> None:
        self._running.resume()
        self.is_paused = False

    @property
    def away(self) -> int:
        """How many others it does not reach."""
        return len(self._away) // len(self.ports)

    def cut(self, ports: Collection[int]) -> None:
        self._away = ports
        if self._carrier is not None:
            self._carrier.call("cut", list(ports))

    @property
    def faults(self) -> Faults:
        """Those of requests to this broker; brokers among themselves are spared unless named: client_id="broker-2"."""
        return Faults(self._running.call, lambda: self.bootstrap_servers)

    def transcript(self, *, api: str | None = None, errors: bool = False) -> Transcript:
        """The last requests and answers of clients and of other brokers."""
        said: Transcript = self._running.call("transcript")
        said = Transcript(each for each in said if each.client_id != CLIENT_ID)
        return said.about(api=api, errors=errors)

    def log(self) -> str:
        """The last lines that it logged."""
        return str(self._running.call("log"))

    @property
    def _running(self) -> InProcess:
        if self._carrier is None:
            raise RuntimeError(f"broker {self.number} does not run")
        return self._carrier
