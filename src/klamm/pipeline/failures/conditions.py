"""Spark's own conditions in a user's words, where Spark's sentence says too much or does not say the way on.

A condition is known by its name, which stays from release to release; the sentence beside it does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from klamm.pipeline.failures.chain import Link, clean, with_condition

Parameters: TypeAlias = Mapping[str, str]

STATE_CHANGED = (
    "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
    "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
    "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE",
    "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION",
    "STATE_STORE_COLUMN_FAMILY_SCHEMA_INCOMPATIBLE",
    "STATE_STORE_INVALID_CONFIG_AFTER_RESTART",
    "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE",
    "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
)
CHECKPOINT_BROKEN = (
    "CANNOT_LOAD_STATE_STORE",
    "CANNOT_LOAD_CHECKPOINT_FILE_MANAGER",
    "BATCH_METADATA_NOT_FOUND",
    "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED",
    "MALFORMED_LOG_FILE",
    "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
    "STDS_",
)
_OUTPUT_MODE = "set output: update for the sink, or give the source a watermark, behind which a result is final"
_FIELD = re.compile(r"StructField\(([^,()]+),([A-Za-z]+?)(?:Type)?[,(]")
_TYPES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
# What Spark calls an expression in GROUP BY.
_NAMES = {"_groupingexpression": "the key"}
_OPERATOR = re.compile(r"OperatorName: (\w+)")
_OPERATORS = {
    "stateStoreSave": "an aggregation",
    "sessionWindowStateStoreSaveExec": "an aggregation by session",
    "dedupe": "a deduplication",
    "dedupeWithinWatermark": "a deduplication",
    "symmetricHashJoin": "a join of streams",
    "globalLimit": "a limit",
}


def words_of(link: Link) -> str:
    """What a link says, in our words if its condition has some."""
    for condition, sentence in _SENTENCES.items():
        if link.parameters and with_condition([link], condition):
            return sentence(link.parameters, clean(link.message))
    return clean(link.message)


def state_change(link: Link) -> str:
    """How a state differs from the one in the checkpoint, as far as Spark tells."""
    told = link.parameters
    match link.condition:
        case "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE" if told:
            how = _difference(told["storedKeySchema"], told["newKeySchema"])
            return f"by another key, {how}"
        case "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE" if told:
            how = _difference(told["storedValueSchema"], told["newValueSchema"])
            return f"it keeps something else, {how}"
        case "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA" if told:
            before, now = _operators(told["OpsInMetadataSeq"]), _operators(told["OpsInCurBatchSeq"])
            return f"before {before}, now {now}"
    return clean(link.message)


def _difference(before: str, now: str) -> str:
    old, new = _fields(before), _fields(now)
    parts = {
        "new": [each for each in new if each not in old],
        "gone": [each for each in old if each not in new],
    }
    told = [f"{what} is {', '.join(fields)}" for what, fields in parts.items() if fields]
    return " and ".join(told) or "the same columns in another order"


def _fields(schema: str) -> list[str]:
    """The columns in Scala's text of a schema; those inside of others stand beside them."""
    found = ((_NAMES.get(name, name), kind.lower()) for name, kind in _FIELD.findall(schema))
    return [f"{name} {_TYPES.get(kind, kind)}" for name, kind in found]


def _operators(text: str) -> str:
    names = [_OPERATORS.get(name, "a state of your own") for name in _OPERATOR.findall(text)]
    return " and ".join(names) or "none"


def _table_missing(told: Parameters, sentence: str) -> str:
    place = re.search(r"; line \d+ pos \d+$", sentence)
    return f"The table or view {told['relationName']} cannot be found{place[0] if place else ''}"


_SENTENCES: dict[str, Callable[[Parameters, str], str]] = {
    "TABLE_OR_VIEW_NOT_FOUND": _table_missing,
    "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION": (
        lambda _, said: f"{said.rstrip('.')}: {_OUTPUT_MODE}"
    ),
    "UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK": (
        lambda _, said: f"{said.rstrip('.')}: {_OUTPUT_MODE}"
    ),
}
