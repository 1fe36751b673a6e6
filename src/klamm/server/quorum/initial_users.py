"""`klamm storage format --add-scram`: users that the log of a new cluster begins with, in the notation of Kafka's tool.

SCRAM-SHA-256=[name=ann,password=pear]
SCRAM-SHA-512=[name=ann,iterations=8192,salt="c2FsdA==",saltedpassword="..."]
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Sequence

from klamm.base.chance import Chance
from klamm.metadata.records.security import UserScramCredentialRecord
from klamm.security.sasl.scram import (
    MECHANISMS,
    ScramMechanism,
    credential_of,
    salted_password,
)
from klamm.server.storage import StorageError

_USER = re.compile(r"(?P<mechanism>[A-Za-z0-9-]+)=\[(?P<facts>.*)\]", re.DOTALL)
_FACT = re.compile(
    r'\s*(?P<key>[a-z]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^,"]*))\s*(?:,|$)'
)
_KEYS = {"name", "password", "salt", "iterations", "saltedpassword"}
_SALT_BYTES = 24


def records_of(texts: Sequence[str], chance: Chance) -> list[UserScramCredentialRecord]:
    """StorageError: what is wrong with one of them, without its secrets."""
    records = [_record(text, chance) for text in texts]
    known = {(each.name, each.mechanism) for each in records}
    if len(known) < len(records):
        raise StorageError("--add-scram names one user more than once with the same mechanism.")
    return records


def _record(text: str, chance: Chance) -> UserScramCredentialRecord:
    match = _USER.fullmatch(text.strip())
    if match is None:
        raise StorageError("--add-scram is written as SCRAM-SHA-256=[name=ann,password=pear].")
    mechanism = MECHANISMS.get(match["mechanism"])
    if mechanism is None:
        raise StorageError(
            f"The add-scram mechanism {match['mechanism']} is not supported. "
            f"It is one of {', '.join(MECHANISMS)}."
        )
    facts = _facts(match["facts"])
    for key in facts.keys() - _KEYS:
        raise StorageError(f"Unknown --add-scram key: {key}.")
    if not facts.get("name"):
        raise StorageError("You must supply 'name' to add-scram")
    if ("password" in facts) == ("saltedpassword" in facts):
        raise StorageError("You must supply one of 'password' or 'saltedpassword' to add-scram")
    iterations = _iterations(facts, mechanism)
    if "saltedpassword" in facts:
        if "salt" not in facts:
            raise StorageError("You must supply 'salt' with 'saltedpassword' to add-scram")
        salted, salt = _decoded(facts, "saltedpassword"), _decoded(facts, "salt")
    else:
        salt = _decoded(facts, "salt") if "salt" in facts else chance.randbytes(_SALT_BYTES)
        salted = salted_password(mechanism, facts["password"], salt, iterations)
    credential = credential_of(mechanism, salted, salt, iterations)
    return UserScramCredentialRecord(
        name=facts["name"],
        mechanism=mechanism.number,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def _facts(text: str) -> dict[str, str]:
    facts: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _FACT.match(text, at)
        if match is None or match.end() == at:
            raise StorageError(
                "What stands in the brackets of --add-scram is written as key=value,..."
            )
        quoted = match["quoted"]
        value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else match["bare"].strip()
        facts[match["key"]] = value
        at = match.end()
    return facts


def _iterations(facts: dict[str, str], mechanism: ScramMechanism) -> int:
    text = facts.get("iterations", str(mechanism.min_iterations))
    if not text.isascii() or not text.isdecimal():
        raise StorageError(f"The iterations of --add-scram are a number, not {text!r}.")
    iterations = int(text)
    if not mechanism.min_iterations <= iterations <= mechanism.max_iterations:
        raise StorageError(
            f"The 'iterations' value must be >= {mechanism.min_iterations} and <= "
            f"{mechanism.max_iterations} for add-scram"
        )
    return iterations


def _decoded(facts: dict[str, str], key: str) -> bytes:
    try:
        return b64decode(facts[key], validate=True)
    except (Error, ValueError):
        raise StorageError(f"The {key} of --add-scram is not base64.") from None
