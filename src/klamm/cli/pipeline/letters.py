"""`klamm pipeline retry-dead-letters`: sends bad records again to where they came from. No Spark."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.cli.connect import check_reachable, key_values
from klamm.cli.output import CommandError, Format, Row, UsageError, notice, show
from klamm.cli.pipeline.targets import Target
from klamm.pipeline.place import Place

# Not an expectation: the record could not be decoded.
_MALFORMED = "malformed"


def retry(
    target: Target,
    *,
    check: str | None,
    limit: int | None,
    execute: bool,
    bootstrap: str | None,
    properties: Sequence[str] | None,
    output: Format | None,
) -> None:
    topic = _topic_of(target)
    _check_is_known(target, check)
    place = Place(
        bootstrap=target.bootstrap(bootstrap),
        client={**target.client, **key_values(properties, option="-X")},
        checkpoint="",
        warehouse="",
    )
    check_reachable(place.bootstrap)
    # Imported here: it loads confluent-kafka, and the other commands of the group need not wait for that.
    from klamm.pipeline.client import BadClientSettings
    from klamm.pipeline.quality.retrying import Wanted, retry_dead_letters
    from klamm.pipeline.sources.trouble import SourceFailed

    wanted = Wanted(pipeline=target.name, topic=topic, check=check, limit=limit)
    try:
        retried = retry_dead_letters(place, wanted, execute=execute)
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
