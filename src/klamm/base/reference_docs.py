"""The reference pages of settings and errors, written from the tables. Text out; who writes the files is not known here."""

from collections.abc import Iterable

from klamm.base.errors import ErrorCode
from klamm.base.settings import client_metrics, group_overrides, quotas
from klamm.base.settings.broker import ALONE
from klamm.base.settings.declare import LONG_MAX, Setting
from klamm.base.settings.kinds import Kind
from klamm.base.settings.table import AUTHORIZER, THEMES
from klamm.base.settings.topic import TOPIC

_CONFIG_HEAD = """\
# Settings

Written by `make docs` from `src/klamm/base/settings`; do not edit.

The names, types, defaults and bounds are those of Apache Kafka 4.3. A `server.properties` of Kafka is read as it is;
TOML means the same with dotted keys or tables (`[log]` and `segment.bytes = 1048576`). Flags (`--set key=value`) win over
the environment (`KLAMM_LOG_SEGMENT_BYTES`), the environment wins over files, files win over defaults. A key that nobody
knows is an error. Kafka's internal settings are taken, too, but not listed. Keys that begin with `listener.name.<listener>.` hold for one listener.

**Acts** says whether klamm acts on a setting today. Where it says *no*, the value is checked, shown to clients, and
nothing happens. **Change** says how a setting may change while the broker runs: not at all, for one broker, or for the
whole cluster.
"""

_ALONE_HEAD = """\
## Without a config

Kafka does not start without `process.roles`. klamm does: where it is not set, the node is a cluster of its own, whose
controller needs no socket. These values then take the place of the defaults. `klamm serve` keeps its data in
`$XDG_DATA_HOME/klamm` or `~/.local/share/klamm` where neither `log.dirs` nor `log.dir` is set.
"""

_OURS = "klamm."
_OURS_HEAD = """\
## klamm's own

Kafka does not have these; DescribeConfigs does not show them, because Kafka's clients do not expect them.

"""


def render_config() -> str:
    """docs/config.md."""
    parts = [
        _CONFIG_HEAD,
        _ALONE_HEAD + "\n" + "".join(f"- `{key}={text}`\n" for key, text in ALONE.items()),
    ]
    parts += [_chapter("Topic settings", TOPIC.values(), change=False)]
    parts += [_chapter(title, rows) for title, rows in THEMES.items()]
    own = [row for rows in THEMES.values() for row in rows if row.name.startswith(_OURS)]
    parts += [_OURS_HEAD + _table(own)]
    parts += [
        _chapter("Only while the broker runs", quotas.DYNAMIC_ONLY),
        _chapter("Of the authorizer", AUTHORIZER.values()),
        _chapter("Group settings", group_overrides.ROWS, change=False),
        _chapter("Client metrics settings", client_metrics.ROWS, change=False),
    ]
    return "\n".join(parts)


def render_errors() -> str:
    """docs/errors.md."""
    lines = [
        "# Errors",
        "",
        "Written by `make docs` from `src/klamm/base/errors.py`; do not edit.",
        "",
        "Codes and names are those of Apache Kafka 4.3. *Retriable*: the client may simply try again.",
        "",
        "| code | name | retriable | what it means |",
        "|---:|---|---|---|",
    ]
    lines += [
        f"| {int(each)} | `{each.name}` | {_yes(each.retriable)} | {each.text} |"
        for each in ErrorCode
    ]
    return "\n".join(lines) + "\n"


def _chapter(title: str, rows: Iterable[Setting], *, change: bool = True) -> str:
    return f"## {title}\n\n" + _table((row for row in rows if not row.hidden), change=change)


def _table(rows: Iterable[Setting], *, change: bool = True) -> str:
    columns = [
        "name",
        "type",
        "default",
        "allowed",
        *(["change"] if change else []),
        "acts",
        "what it does",
    ]
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [_row(declared, change=change) for declared in rows]
    return "\n".join(lines) + "\n"


def _row(declared: Setting, *, change: bool) -> str:
    cells = [
        f"`{declared.name}`",
        declared.kind.name.lower(),
        _default(declared),
        (declared.check.text if declared.check else "").replace("|", "\\|"),
        *([declared.mode.value] if change else []),
        _yes(declared.effective),
        declared.doc,
    ]
    return f"| {' | '.join(cells)} |"


def _default(declared: Setting) -> str:
    if declared.default is None:
        return ""
    if declared.default == LONG_MAX and declared.kind is Kind.LONG:
        return "no limit"
    return f"`{declared.default_text}`" if declared.default_text else "empty"


def _yes(claim: bool) -> str:
    return "yes" if claim else "no"
