"""`klamm pipeline retry-dead-letters`: sends bad records again to where they came from. No Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.cli.client_settings import client_settings
from klamm.cli.connect import INT64_MAX, Output, Properties, check_reachable
from klamm.cli.output import CommandError, Row, UsageError, notice, show
from klamm.cli.pipeline.targets import Bootstrap, Execute, NameOrFile, Target, find
from klamm.pipeline.place import Place

# Not an expectation: the record could not be decoded.
_MALFORMED = "malformed"


def retry_dead_letters(
    target: NameOrFile,
    check: Annotated[
        str | None,
        typer.Option(
            "--check", metavar="NAME", help="Only those of one expectation, or malformed."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, max=INT64_MAX, help="At most so many records."),
    ] = None,
    execute: Execute = False,
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Send bad records again to where they came from."""
    found = find(target)
    topic = _topic_of(found)
    _check_is_known(found, check)
    place = Place(
        bootstrap=found.bootstrap(bootstrap),
        client={**found.client, **client_settings(properties)},
        checkpoint="",
        warehouse="",
    )
    check_reachable(place.bootstrap)
    # Imported here: it loads confluent-kafka, and the other commands of the group need not wait for that.
    from klamm.pipeline.client import BadClientSettings
    from klamm.pipeline.quality.retrying import Wanted
    from klamm.pipeline.quality.retrying import retry_dead_letters as resend
    from klamm.pipeline.sources.trouble import SourceFailed

    wanted = Wanted(pipeline=found.name, topic=topic, check=check, limit=limit)
    try:
        retried = resend(place, wanted, execute=execute)
    except SourceFailed as failure:
        raise CommandError("dead letters were not sent", why=str(failure)) from failure
    except BadClientSettings as bad:
        raise UsageError(str(bad)) from bad
    rows: list[Row] = [
        {"dead_letters": topic, "check": name, "records": count, "sent": execute}
        for name, count in sorted(retried.by_check.items())
    ]
    show(rows, output)
    if retried.without_topic:
        notice(f"{retried.without_topic} came from no topic and stay where they are")
    if rows and not execute:
        notice("nothing was sent; --execute does it")


def _topic_of(target: Target) -> str:
    if target.pipeline is None:
        raise CommandError(
            f"the file of pipeline {target.name} is not there, or is another's now",
            hint="klamm pipeline retry-dead-letters FILE",
        )
    if target.pipeline.dead_letter is None:
        raise UsageError(
            f"pipeline {target.name} keeps no dead letters", hint="dead_letter: TOPIC in its file"
        )
    return target.pipeline.dead_letter


def _check_is_known(target: Target, check: str | None) -> None:
    assert target.pipeline is not None
    known = [_MALFORMED, *(each.name for each in target.pipeline.expect)]
    if check is not None and check not in known:
        # An expectation that was renamed may have left letters under its old name, so it is tried.
        notice(f"{target.name} has no expectation {check} now; it has {', '.join(known)}")
