"""Answers of two brokers held against each other.

Everything that must differ between two healthy brokers (ids, times, addresses, wording) is blurred before: blurred is
the value, not whether there is one.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from klamm.base.ids import ZERO_UUID


def differences(kafka: Any, klamm: Any, ignoring: Iterable[str] = ()) -> list[str]:
    """A line for each place where klamm's answer is not Kafka's."""
    return list(_differences("", _blurred(kafka, ignoring), _blurred(klamm, ignoring)))


def _differences(place: str, kafka: Any, klamm: Any) -> Iterator[str]:
    if kafka == klamm or _may_differ(place, kafka, klamm):
        return
    if isinstance(kafka, dict) and isinstance(klamm, dict) and kafka.keys() == klamm.keys():
        for name in kafka:
            yield from _differences(f"{place}.{name}".lstrip("."), kafka[name], klamm[name])
    elif isinstance(kafka, list) and isinstance(klamm, list) and len(kafka) == len(klamm):
        for index, pair in enumerate(zip(kafka, klamm, strict=True)):
            yield from _differences(f"{place}[{_label(pair[0], index)}]", *pair)
    elif isinstance(kafka, list) and isinstance(klamm, list):
        yield from (f"{place}: only Kafka has {item}" for item in kafka if item not in klamm)
        yield from (f"{place}: only klamm has {item}" for item in klamm if item not in kafka)
    else:
        yield f"{place}: Kafka says {kafka!r}, klamm {klamm!r}"


def _may_differ(place: str, kafka: Any, klamm: Any) -> bool:
    """klamm may explain an error where Kafka does not, and name one where Kafka stumbles."""
    if place.endswith("error_code"):
        return bool(kafka == _STUMBLED and klamm != 0)
    return (kafka, klamm) == (_NO_TEXT, _TEXT)


_STUMBLED = -1


def _label(item: Any, index: int) -> object:
    return item.get("name", index) if isinstance(item, dict) else index


_TEXT, _NO_TEXT = "some text", "no text"


def _is_there(text: str | None) -> object:
    """Without an error Kafka sends null in some answers and an empty text in others; clients take both alike."""
    return _TEXT if text else _NO_TEXT


def _is_known(value: int) -> object:
    return "some number" if value >= 0 else value


_BLUR: dict[str, Callable[[Any], object]] = {
    "throttle_time_ms": lambda _: "",
    "host": lambda _: "",
    "port": lambda _: "",
    "log_dir": lambda _: "",
    "cluster_id": _is_there,
    "error_message": _is_there,
    "batch_index_error_message": _is_there,
    "documentation": _is_there,
    "topic_id": lambda value: "no id" if value == ZERO_UUID else "some id",
    "replica_directory_id": lambda _: "",
    "session_id": lambda value: "no session" if value == 0 else "a session",
    "producer_id": _is_known,
    "log_append_time_ms": _is_known,
    "last_timestamp": _is_known,
    "finalized_features_epoch": _is_known,
    "total_bytes": _is_known,
    "usable_bytes": _is_known,
}

# Only here is the order of a list part of the answer.
_ORDERED = {"synonyms", "replica_nodes", "isr_nodes"}


def _blurred(answer: Any, ignoring: Iterable[str]) -> Any:
    if isinstance(answer, dict):
        kept = {name: value for name, value in answer.items() if name not in ignoring}
        return {name: _blurred_field(name, value, ignoring) for name, value in kept.items()}
    if isinstance(answer, list):
        return [_blurred(item, ignoring) for item in answer]
    return answer


def _blurred_field(name: str, value: Any, ignoring: Iterable[str]) -> Any:
    if name in _BLUR:
        return _BLUR[name](value)
    value = _blurred(value, ignoring)
    if isinstance(value, list) and name not in _ORDERED:
        return sorted(value, key=_order)
    return value


def _order(item: Any) -> tuple[str, str]:
    """By name where there is one, so that equal things stand side by side."""
    name = next((item[k] for k in _NAMES if k in item), "") if isinstance(item, dict) else ""
    return str(name), repr(item)


_NAMES = ("name", "topic", "resource_name", "feature", "api_key", "partition_index", "partition")
