"""The golden vectors as files: tests/golden/vectors/<MessageName>.txt, three lines for each vector.

# v3 filled
{"groupId":"s1", ...}        the value, in the JSON form of Kafka's JsonConverter classes
0002733100...                the bytes that Kafka's Java classes write for it
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from golden.samples import Json, Struct

FOLDER = Path(__file__).parent / "vectors"
# One line for each API: key, name, stable versions, flexible versions, listeners.
APIS = Path(__file__).parent / "apis.txt"


def path(message: str) -> Path:
    return FOLDER / f"{message}.txt"


@dataclass(frozen=True, slots=True)
class Vector:
    """One message in one version: a value and its bytes."""

    version: int
    sample: str
    value: Struct
    data: bytes

    def __str__(self) -> str:
        return f"v{self.version} {self.sample}"


@dataclass(frozen=True, slots=True)
class VectorFile:
    """All vectors of one message. The API key is that of the record type where the message is a record."""

    api_key: int | None
    vectors: list[Vector]


def message_names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.txt"))


def load(message: str) -> VectorFile:
    first, *lines = path(message).read_text(encoding="utf-8").splitlines()
    vectors = [
        _parse(title, value, data)
        for title, value, data in zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    ]
    key = first.removeprefix("# api key ")
    return VectorFile(None if key == "none" else int(key), vectors)


def _parse(title: str, value: str, data: str) -> Vector:
    _, version, sample = title.split(" ")
    return Vector(int(version.removeprefix("v")), sample, json.loads(value), bytes.fromhex(data))


def dump(file: VectorFile) -> str:
    key = "none" if file.api_key is None else file.api_key
    vectors = (f"# {v}\n{compact(v.value)}\n{v.data.hex()}\n" for v in file.vectors)
    return f"# api key {key}\n{''.join(vectors)}"


def compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
