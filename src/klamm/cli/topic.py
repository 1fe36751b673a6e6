"""`klamm topic`: create, list, describe, alter and delete topics. Thin: parse, ask, print."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Annotated

import typer

from klamm.base.ids import TopicPartition
from klamm.cli.connect import (
    ANSWER_TIMEOUT_S,
    DEFAULT_BOOTSTRAP,
    HINTS,
    MOST_PARTITIONS,
    MOST_REPLICAS,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    answer,
    check_names,
    cluster_metadata,
    command_group,
    explained,
    kafka_error,
    key_values,
    run_typer,
)
from klamm.cli.offsets import BEGINNING, END, ask
from klamm.cli.output import (
    CommandError,
    Format,
    Row,
    UsageError,
    complain,
    format_or_default,
    notice,
    show,
)

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, ConfigEntry, TopicDescription, TopicMetadata

app = command_group("Create, list, describe, alter and delete topics.")
Names = Annotated[list[str], typer.Argument(metavar="TOPIC", help="Topics, by name.")]
Configs = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        "-c",
        metavar="KEY=VALUE",
        help="A config, say retention.ms=60000; may be repeated.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Let the broker check the request and change nothing.")
]


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "topic", arguments)


@app.command()
def create(
    names: Names,
    partitions: Annotated[
        int,
        typer.Option(
            "--partitions",
            "-p",
            min=-1,
            max=MOST_PARTITIONS,
            help="How many; -1: as the broker likes.",
        ),
    ] = -1,
    replicas: Annotated[
        int,
        typer.Option(
            "--replicas",
            "-r",
            min=-1,
            max=MOST_REPLICAS,
            help="Copies of each; -1: as the broker likes.",
        ),
    ] = -1,
    config: Configs = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="A topic that exists is fine.")
    ] = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Create topics."""
    check_names("topic", names)
    for option, count in (("--partitions", partitions), ("--replicas", replicas)):
        if count == 0:
            raise UsageError(f"{option} 0 leaves nothing to write to", hint=f"{option} 1, or more")
    configs = key_values(config, option="--config")
    admin = Cluster.at(bootstrap, properties).admin()
    from confluent_kafka.admin import NewTopic

    with explained("the topics cannot be created"):
        futures = admin.create_topics(
            [NewTopic(name, partitions, replicas, config=configs) for name in dict.fromkeys(names)],
            validate_only=dry_run,
            request_timeout=ANSWER_TIMEOUT_S,
        )
    results = _settle(
        futures, "was not created", accept="TOPIC_ALREADY_EXISTS" if if_not_exists else ""
    )
    show(
        ({"topic": name, "created": done and not dry_run} for name, done in results.items()), output
    )
    _exit_unless_all(results, futures)


@app.command("list")
def list_topics(
    pattern: Annotated[
        str, typer.Argument(help="Only names like this, for example 'orders-*'.")
    ] = "*",
    internal: Annotated[
        bool, typer.Option("--internal", "-i", help="Show the cluster's own topics too.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """List topics."""
    metadata = cluster_metadata(Cluster.at(bootstrap, properties).admin())
    names = sorted(name for name in metadata.topics if fnmatch.fnmatchcase(name, pattern))
    show(
        (
            _summary(name, metadata.topics[name])
            for name in names
            if internal or not name.startswith("__")
        ),
        output,
    )


@app.command()
def describe(
    names: Names,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Show the configs that are defaults too.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Show partitions, offsets and configs of topics."""
    check_names("topic", names)
    admin = Cluster.at(bootstrap, properties).admin()
    from confluent_kafka import TopicCollection

    wanted = list(dict.fromkeys(names))
    futures = admin.describe_topics(TopicCollection(wanted), request_timeout=ANSWER_TIMEOUT_S)
    described: dict[str, bool] = {}
    for name, future in futures.items():
        try:
            topic = answer(future, f"topic {name} cannot be described")
            _show_topic(
                topic, _partition_rows(admin, topic), _config_rows(admin, name, everything), output
            )
            described[name] = True
        except CommandError as failure:
            complain(failure)
    _exit_unless_all(described, futures)


@app.command()
def alter(
    names: Names,
    config: Configs = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option(
            "--delete-config", "-d", metavar="KEY", help="Back to the default; may be repeated."
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions", "-p", min=1, max=MOST_PARTITIONS, help="Grow to this many partitions."
        ),
    ] = None,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Change configs, or add partitions."""
    check_names("topic", names)
    check_names("config", delete_config or ())
    configs = key_values(config, option="--config")
    if not configs and not delete_config and partitions is None:
        raise UsageError(
            "nothing to change", hint="--config KEY=VALUE, --delete-config KEY or --partitions N"
        )
    admin = Cluster.at(bootstrap, properties).admin()
    wanted = list(dict.fromkeys(names))
    results = dict.fromkeys(wanted, True)
    if configs or delete_config:
        results = _alter_configs(admin, wanted, configs, delete_config or (), dry_run)
    if partitions is not None:
        results = _add_partitions(
            admin, [name for name in wanted if name in results], partitions, dry_run
        )
    show(({"topic": name, "altered": not dry_run} for name in results), output)
    _exit_unless_all(results, wanted)


@app.command()
def delete(
    names: Names,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="A topic that is not there is fine.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Delete topics with all their records."""
    check_names("topic", names)
    admin = Cluster.at(bootstrap, properties).admin()
    futures = admin.delete_topics(list(dict.fromkeys(names)), request_timeout=ANSWER_TIMEOUT_S)
    results = _settle(
        futures,
        "was not deleted",
        accept="UNKNOWN_TOPIC_OR_PART" if if_exists else "",
        hints={
            "UNKNOWN_TOPIC_OR_PART": "`klamm topic list` shows what exists; --if-exists accepts that it is gone"
        },
    )
    show(({"topic": name, "deleted": done} for name, done in results.items()), output)
    _exit_unless_all(results, futures)


def _settle(
    futures: Mapping[str, Future[None]],
    what: str,
    *,
    accept: str = "",
    hints: Mapping[str, str] = HINTS,
) -> dict[str, bool]:
    """Topic -> was it done; False where the accepted error said that there was nothing to do; failures are left out."""
    results: dict[str, bool] = {}
    for name, future in futures.items():
        try:
            answer(future, f"topic {name} {what}", hints=hints)
            results[name] = True
        except CommandError as failure:
            error = kafka_error(failure)
            if error is not None and error.name() == accept:
                notice(f"topic {name} {what}: {error.str()}")
                results[name] = False
            else:
                complain(failure)
    return results


def _exit_unless_all(
    results: Mapping[str, bool], wanted: Sequence[str] | Mapping[str, object]
) -> None:
    if len(results) < len(wanted):
        raise typer.Exit(1)


def _alter_configs(
    admin: AdminClient,
    names: Sequence[str],
    configs: Mapping[str, str],
    deletions: Sequence[str],
    dry_run: bool,
) -> dict[str, bool]:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

    entries = [
        *(
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
            for key, value in configs.items()
        ),
        *(
            ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE)
            for key in deletions
        ),
    ]
    resources = [
        ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=entries)
        for name in names
    ]
    with explained("the topics cannot be altered"):
        futures = admin.incremental_alter_configs(
            resources, validate_only=dry_run, request_timeout=ANSWER_TIMEOUT_S
        )
    return _settle(
        {resource.name: future for resource, future in futures.items()}, "was not altered"
    )


def _add_partitions(
    admin: AdminClient, names: Sequence[str], count: int, dry_run: bool
) -> dict[str, bool]:
    from confluent_kafka.admin import NewPartitions

    if not names:
        return {}
    with explained("the topics cannot grow"):
        futures = admin.create_partitions(
            [NewPartitions(name, count) for name in names],
            validate_only=dry_run,
            request_timeout=ANSWER_TIMEOUT_S,
        )
    return _settle(futures, "did not get more partitions")


def _summary(name: str, topic: TopicMetadata) -> Row:
    partitions = topic.partitions.values()
    return {
        "topic": name,
        "partitions": len(partitions),
        "replicas": max((len(partition.replicas) for partition in partitions), default=0),
    }


def _partition_rows(admin: AdminClient, topic: TopicDescription) -> list[Row]:
    led = [
        TopicPartition(topic.name, partition.id)
        for partition in topic.partitions
        if partition.leader
    ]
    first, last = ask(admin, led, BEGINNING), ask(admin, led, END)
    return [
        {
            "partition": partition.id,
            "leader": partition.leader.id if partition.leader else None,
            "replicas": [node.id for node in partition.replicas],
            "isr": [node.id for node in partition.isr],
            "start_offset": first.get(TopicPartition(topic.name, partition.id)),
            "end_offset": last.get(TopicPartition(topic.name, partition.id)),
        }
        for partition in topic.partitions
    ]


def _config_rows(admin: AdminClient, name: str, everything: bool) -> list[Row]:
    from confluent_kafka.admin import ConfigResource, ConfigSource

    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    futures = admin.describe_configs([resource], request_timeout=ANSWER_TIMEOUT_S)
    entries: Mapping[str, ConfigEntry] = answer(
        futures[resource], f"the configs of topic {name} are not known"
    )
    sources = {name: ConfigSource(entry.source) for name, entry in entries.items()}
    return [
        {
            "config": key,
            "value": entries[key].value,
            "source": sources[key].name.removesuffix("_CONFIG").lower(),
        }
        for key in sorted(entries)
        if everything or sources[key] is ConfigSource.DYNAMIC_TOPIC_CONFIG
    ]


def _show_topic(
    topic: TopicDescription,
    partitions: Sequence[Row],
    configs: Sequence[Row],
    output: Format | None,
) -> None:
    facts: Row = {
        "topic": topic.name,
        "topic_id": _kafka_id(topic),
        "internal": topic.is_internal,
    }
    if format_or_default(output) is Format.JSON:
        named = {str(row["config"]): row["value"] for row in configs}
        show([{**facts, "partitions": partitions, "configs": named}], Format.JSON)
        return
    show(partitions, Format.TABLE, title=f"{topic.name}  (id {_kafka_id(topic)})")
    if configs:
        show(configs, Format.TABLE)


def _kafka_id(topic: TopicDescription) -> str:
    """librdkafka prints ids in plain base64; Kafka's tools and files use the URL-safe letters."""
    return str(topic.topic_id).translate(str.maketrans("+/", "-_"))
