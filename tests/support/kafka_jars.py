"""Apache Kafka's own jars, by their Maven names: the broker, its tools and all they depend on.

The first call downloads them (about 120 MB) into the test cache; see support.cache.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

from support import cache, tools

KAFKA_VERSION = "4.3.1"

_POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>klamm.tests</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = """\
    <dependency>
      <groupId>{0}</groupId>
      <artifactId>{1}</artifactId>
      <version>{2}</version>
    </dependency>"""

_KAFKA = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
)
_STREAMS = f"org.apache.kafka:kafka-streams:{KAFKA_VERSION}"
# Kafka logs through slf4j, which is silent unless something like this stands beside it.
_LOGGER = "org.slf4j:slf4j-simple:1.7.36"

# A tool lives for a second or two: the heavier compiler and collector would only cost start-up time.
_SHORT_LIVED = ("-Xmx256M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


def require_java() -> str:
    """The path of `java`; skips the test when there is none."""
    return tools.require("java", why="this test runs Apache Kafka's own code")


def classpath() -> str:
    """Kafka's classpath; skips the test when Java or Maven is missing or the registry is out of reach."""
    require_java()
    return f"{cache.directory(f'kafka-{KAFKA_VERSION}', lambda to: _download(to, *_KAFKA))}/*"


def logging_classpath() -> str:
    """The same, and a logger beside it that prints to stderr; -Dorg.slf4j.simpleLogger... says what."""
    return f"{classpath()}:{_logger()}"


def streams_classpath() -> str:
    """Kafka Streams, the clients it uses, and the same logger."""
    require_java()
    streams = cache.directory(f"kafka-streams-{KAFKA_VERSION}", lambda to: _download(to, _STREAMS))
    return f"{streams}/*:{_logger()}"


def _logger() -> str:
    name = _LOGGER.replace(":", "-")
    return f"{cache.directory(name, lambda to: _download(to, _LOGGER))}/*"


def java_command(
    main_class: str,
    *args: str,
    options: tuple[str, ...] = _SHORT_LIVED,
    jars: Callable[[], str] = classpath,
) -> list[str]:
    """The command line that runs a class of Kafka's jars."""
    return [require_java(), *options, "-cp", jars(), main_class, *args]


def run_java(
    main_class: str,
    *args: str,
    timeout: float = 60,
    stdin: str | None = None,
    check: bool = True,
) -> str:
    """Runs a class of Kafka's jars and gives what it printed on stdout."""
    return tools.run(java_command(main_class, *args), timeout=timeout, stdin=stdin, check=check)


def java_tool(name: str, *args: str, timeout: float = 60, stdin: str | None = None) -> str:
    """Runs one of org.apache.kafka.tools, for example java_tool("TopicCommand", "--list", ...)."""
    return run_java(f"org.apache.kafka.tools.{name}", *args, timeout=timeout, stdin=stdin)


def compiled(source: Path, jars: Callable[[], str] = classpath) -> Path:
    """The folder of classes of one Java file, compiled against Kafka's jars once per content."""
    javac = tools.require("javac", why=f"{source.name} is compiled for this test")
    fingerprint = cache.fingerprint(KAFKA_VERSION.encode(), source.read_bytes())

    def compile_into(target: Path) -> None:
        command = [javac, "-Xlint:all,-options", "-Werror", "-proc:none"]
        subprocess.run([*command, "-cp", jars(), "-d", str(target), str(source)], check=True)

    return cache.directory(f"java/{source.stem}-{fingerprint}", compile_into)


def run_source(source: Path, *args: str, timeout: float = 120, stdin: str | None = None) -> str:
    """Compiles one Java file if that is still to be done, runs its class and gives its stdout."""
    words = [require_java(), *_SHORT_LIVED, "-cp", f"{compiled(source)}:{classpath()}", source.stem]
    return tools.run([*words, *args], timeout=timeout, stdin=stdin)


def _download(target: Path, *artifacts: str) -> None:
    maven = tools.require("mvn", why="it brings Apache Kafka's jars")
    pom = target / "pom.xml"
    dependencies = (_DEPENDENCY.format(*artifact.split(":")) for artifact in artifacts)
    pom.write_text(_POM.format(dependencies="\n".join(dependencies)))
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    tools.download(
        [maven, "-q", "-B", "-f", pom, goal, f"-DoutputDirectory={target}"],
        what=", ".join(artifacts),
    )
