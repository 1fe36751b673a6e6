"""Kafka's own message schemas, read out of its jars.

The jars carry the JSON files from which Kafka generates its Java classes. Only the recorder of the
golden vectors reads them; klamm's declarations are written independently, and the vectors compare
the two.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# jar (without its version) -> Java package of the classes generated from its schemas
PACKAGES = {
    "kafka-clients": "org.apache.kafka.common.message",
    "kafka-metadata": "org.apache.kafka.common.metadata",
    "kafka-group-coordinator": "org.apache.kafka.coordinator.group.generated",
    "kafka-transaction-coordinator": "org.apache.kafka.coordinator.transaction.generated",
    "kafka-share-coordinator": "org.apache.kafka.coordinator.share.generated",
}

# A whole line, or the end of a line outside of a string.
_COMMENT = re.compile(r"^\s*//.*$|//[^\"\n]*$", flags=re.MULTILINE)

Versions = range


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message or struct, as Kafka's schema has it."""

    name: str
    type: str  # the element's type if is_array
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    default: str | None  # the schema's text; None where the schema names none
    fields: tuple[Field, ...]  # of the struct, if type is one


@dataclass(frozen=True, slots=True)
class Schema:
    """One message of Kafka: a request, response, header, record key, record value or plain data."""

    name: str
    java_class: str
    api_key: int | None  # of the API, or of the record type
    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...]
    listeners: tuple[str, ...]  # of a request: broker, controller
    has_unstable_version: bool  # the latest


def read_schemas(jars: Path) -> list[Schema]:
    """All messages in the folder's jars that have a valid version, by name."""
    schemas = []
    for name, package in PACKAGES.items():
        (jar,) = jars.glob(f"{name}-[0-9]*.jar")
        schemas += [_schema(text, package) for text in _json_files(jar)]
    return sorted((s for s in schemas if s.versions), key=lambda schema: schema.name)


def _json_files(jar: Path) -> Iterator[dict[str, Any]]:
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if re.match(r"common/(message|metadata)/\w+\.json$", name):
                text = archive.read(name).decode()
                yield json.loads(_COMMENT.sub("", text))


def _schema(text: dict[str, Any], package: str) -> Schema:
    suffix = "Data" if text["type"] in ("request", "response", "header") else ""
    structs = {struct["name"]: struct["fields"] for struct in text.get("commonStructs", ())}
    return Schema(
        name=text["name"],
        java_class=f"{package}.{text['name']}{suffix}",
        api_key=text.get("apiKey"),
        versions=_versions(text["validVersions"]),
        flexible=_versions(text.get("flexibleVersions", "none")),
        fields=_fields(text.get("fields", ()), structs),
        listeners=tuple(text.get("listeners", ())),
        has_unstable_version=text.get("latestVersionUnstable", False),
    )


def _fields(
    texts: Iterable[dict[str, Any]], structs: dict[str, list[dict[str, Any]]]
) -> tuple[Field, ...]:
    return tuple(_field(text, structs) for text in texts)


def _field(text: dict[str, Any], structs: dict[str, list[dict[str, Any]]]) -> Field:
    element = text["type"].removeprefix("[]")
    # Kafka's generator takes only the string "null" for a default of null, a bare null for none.
    default = text.get("default")
    return Field(
        name=text["name"][0].lower() + text["name"][1:],
        type=element,
        is_array=text["type"].startswith("[]"),
        versions=_versions(text.get("versions", text.get("taggedVersions", "none"))),
        nullable=_versions(text.get("nullableVersions", "none")),
        tagged=_versions(text.get("taggedVersions", "none")),
        default=default if default is None or isinstance(default, str) else json.dumps(default),
        fields=_fields(text.get("fields") or structs.get(element) or (), structs),
    )


def _versions(text: str) -> Versions:
    if text == "none":
        return range(0)
    if text.endswith("+"):
        return range(int(text[:-1]), 1 << 15)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)
