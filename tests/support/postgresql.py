"""A throw-away PostgreSQL for tests, from Debian's packages: its own data directory, a free port, gone afterwards."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import tools
from support.brokers import HOST, free_port
from support.patience import eventually

USER = "klamm"
PASSWORD = "not-in-any-log"
_INSTALL_SECONDS = 300
_STOP_SECONDS = 20
# A database that nobody will miss need not survive a crash.
_SETTINGS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "shared_buffers=16MB")


@dataclass(frozen=True, slots=True)
class PostgreSql:
    """A running server with one database."""

    port: int
    programs: Path

    user: str = USER
    password: str = PASSWORD
    database: str = "postgres"

    @property
    def url(self) -> str:
        """For JDBC, without user and password."""
        return f"jdbc:postgresql://{HOST}:{self.port}/{self.database}"

    def run(self, sql: str) -> list[tuple[str, ...]]:
        """Runs SQL and gives the rows of its last statement as text; NULL is the empty text."""
        words = ["-h", HOST, "-p", str(self.port), "-U", self.user, "-d", self.database]
        options = ["-v", "ON_ERROR_STOP=1", "-X", "-q", "-A", "-t", "-F", "\x1f"]
        environment = {**os.environ, "PGPASSWORD": self.password}
        printed = tools.run([self.programs / "psql", *words, *options], stdin=sql, env=environment)
        return [tuple(line.split("\x1f")) for line in printed.splitlines() if line]


@contextmanager
def start_postgresql() -> Iterator[PostgreSql]:
    """Skips the test, with the reason, where there is none to be had."""
    programs = _programs()
    home = Path(tempfile.mkdtemp(prefix="klamm-postgresql-"))
    account = _account()
    if account is not None:
        shutil.chown(home, account)
    try:
        _initialise(programs, home, account)
        with _serve(programs, home, account) as server:
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _programs() -> Path:
    found = _installed()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
        found = _installed()
    if found is None:
        pytest.skip("PostgreSQL is not installed (Debian's package postgresql)")
    return found


def _installed() -> Path | None:
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(versions, key=lambda path: float(path.parent.name), default=None)


def _install() -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "--no-install-recommends", "postgresql"]
    for command in (["apt-get", "update"], install):
        try:
            tools.run(command, timeout=_INSTALL_SECONDS, env=environment)
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            pytest.skip(f"PostgreSQL could not be installed: {str(failure)[-400:]}")


def _account() -> str | None:
    """The server refuses to run as root; None is whoever we are."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


def _initialise(programs: Path, home: Path, account: str | None) -> None:
    secret = home / "password"
    secret.write_text(PASSWORD)
    if account is not None:
        shutil.chown(secret, account)
    words = ["-D", home / "data", "-U", USER, "--auth=scram-sha-256", f"--pwfile={secret}"]
    command = [str(word) for word in (programs / "initdb", *words, "--no-sync", "-E", "UTF8")]
    done = subprocess.run(
        [*command, "--locale=C"], user=account, cwd=home, capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"PostgreSQL could not be prepared: {done.stderr.decode()[-400:]}")


@contextmanager
def _serve(programs: Path, home: Path, account: str | None) -> Iterator[PostgreSql]:
    port = free_port()
    command = [str(programs / "postgres"), "-D", str(home / "data"), "-p", str(port)]
    for setting in (*_SETTINGS, f"listen_addresses={HOST}", "unix_socket_directories="):
        command += ["-c", setting]
    with open(home / "log", "wb") as log:
        process = subprocess.Popen(
            command, user=account, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    server = PostgreSql(port, programs)
    try:
        eventually(lambda: _check(server, process, home / "log"))
        yield server
    finally:
        # It ends what its clients left open and stops.
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _check(server: PostgreSql, process: subprocess.Popen[bytes], log: Path) -> None:
    if process.poll() is not None:
        raise RuntimeError(f"PostgreSQL ended:\n{log.read_text()}")
    server.run("SELECT 1")
