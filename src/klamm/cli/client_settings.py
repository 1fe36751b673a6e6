"""How commands log in: files of client settings as Kafka's tools take them, and single settings, which win.

A file may have the names of Java's clients or those of librdkafka. What tunes Java's clients and is not about the
connection is passed over.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from klamm.base.settings.properties import read_properties
from klamm.cli.output import UsageError

ENVIRONMENT = "KLAMM_COMMAND_CONFIG"
_OF_THE_CONNECTION = (
    "security.",
    "sasl.",
    "ssl.",
    "enable.ssl.",
    "enable.sasl.",
    "bootstrap.servers",
)


def client_settings(given: Iterable[str] | None) -> dict[str, str]:
    """`given`: KEY=VALUE, or the name of a file. In librdkafka's names."""
    files, pairs = [], {}
    if named := os.environ.get(ENVIRONMENT):
        files.append(named)
    for each in given or ():
        key, equals, value = each.partition("=")
        if key and equals and not os.path.isfile(each):
            pairs[key] = value
        elif os.path.isfile(each):
            files.append(each)
        else:
            raise UsageError(f"-X {each!r} is not of the form KEY=VALUE, and no file has this name")
    found: dict[str, str] = {}
    for file in files:
        found |= _read(file)
    return _for_librdkafka(found | pairs)


def _read(name: str) -> dict[str, str]:
    try:
        with open(name, encoding="utf-8") as file:
            entries = list(read_properties(file.read()))
    except (OSError, UnicodeDecodeError) as e:
        why = str(e.strerror) if isinstance(e, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{name} cannot be read", why=why) from e
    except ValueError as e:
        raise UsageError(f"{name} has no client settings", why=str(e)) from e
    return {
        entry.name: entry.text for entry in entries if entry.name.startswith(_OF_THE_CONNECTION)
    }


def _for_librdkafka(given: dict[str, str]) -> dict[str, str]:
    if not any(name.startswith(("ssl.", "sasl.")) for name in given):
        return given
    from klamm.pipeline.client import BadClientSettings, certificates, login

    java = (*certificates.JAVA_ONLY, *login.JAVA_ONLY)
    if not any(name.startswith(java) for name in given):
        return given
    try:
        return {
            **{name: value for name, value in given.items() if not name.startswith(java)},
            **login.for_librdkafka(given),
            **certificates.for_librdkafka(given),
        }
    except BadClientSettings as e:
        raise UsageError("the client refuses its settings", why=str(e)) from e
