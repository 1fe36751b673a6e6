"""Who may set what where, in the order in which Kafka asks.

First whether the resource can be altered here at all, then the names and values, then what the whole would be, and
last whether the resource exists. The meaning of each setting is in base/settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings import validate
from klamm.base.settings.declare import Setting
from klamm.base.settings.table import BROKER, GROUP
from klamm.base.settings.topic import TOPIC
from klamm.controller.decision import Context
from klamm.controller.names import problem_of_name
from klamm.metadata.features import ELR_VERSION
from klamm.metadata.image import ClusterImage, ConfigKey
from klamm.metadata.resource_type import ResourceType

CLUSTER = ConfigKey(ResourceType.BROKER, "")
_MIN_ISR = "min.insync.replicas"
_LEVELS = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")
_ROOT_LOGGER = "root"


def check_resource(key: ConfigKey, *, times: int) -> None:
    """`times`: how often the request names it."""
    if times > 1:
        raise _bad_request("Each resource must appear at most once.")
    if key.resource_type not in ResourceType._value2member_map_:
        raise unknown_resource(key)
    is_one_broker = key.resource_type == ResourceType.BROKER and key.resource_name != ""
    if is_one_broker or key.resource_type == ResourceType.BROKER_LOGGER:
        # That it is the broker that was asked, this one has seen to itself.
        _node_id(key.resource_name)


def unknown_resource(key: ConfigKey) -> ApiError:
    return _bad_request(f"Unknown resource type {key.resource_type}")


def check_names(names: Iterable[str]) -> None:
    listed = list(names)
    if len(set(listed)) < len(listed):
        raise _bad_request("Error due to duplicate config keys")


def check_values(values: Mapping[str, str | None]) -> None:
    if missing := [name for name, value in values.items() if value is None]:
        raise _bad_request(f"Null value not supported for : {', '.join(missing)}")


def check_logger(name: str, operation: str, level: str | None) -> None:
    """klamm has no loggers that a client could turn up or down, so a valid request names one that is not there."""
    if operation not in ("SET", "DELETE"):
        text = f"{operation} operation is not allowed for the BROKER_LOGGER resource"
        raise _bad_request(text)
    if operation == "DELETE" and name == _ROOT_LOGGER:
        raise _bad_request("Removing the log level of the root logger is not allowed")
    if operation == "SET" and level not in _LEVELS:
        raise _bad_config(
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(_LEVELS)}"
        )
    raise _bad_config(f"Logger {name} does not exist!")


def list_value(key: ConfigKey, name: str, current: Mapping[str, str], operation: str) -> list[str]:
    """What a client appends to or subtracts from: the value set, or the default."""
    table = _APPENDABLE.get(key.resource_type, {})
    if not validate.is_list(table, name):
        text = f"Can't {operation} to key {name} because its type is not LIST."
        raise _bad_config(text)
    value = current[name] if name in current else table[name].default_text
    return [each for each in (value or "").split(",") if each]


def check_min_isr(image: ClusterImage, key: ConfigKey, changes: Mapping[str, str | None]) -> None:
    """With an ELR all brokers must agree on min.insync.replicas: it is the cluster's, and always there."""
    if key.resource_type != ResourceType.BROKER or _MIN_ISR not in changes:
        return
    if not image.features.get(ELR_VERSION):
        return
    if key != CLUSTER:
        raise _bad_config(f"Broker-level {_MIN_ISR} cannot be altered while ELR is enabled.")
    if changes[_MIN_ISR] is None:
        raise _bad_config(f"Cluster-level {_MIN_ISR} cannot be removed while ELR is enabled.")


def check_configs(context: Context, key: ConfigKey, configs: Mapping[str, str]) -> None:
    """All configs that the resource would have."""
    name, layers = key.resource_name, context.layers
    match key.resource_type:
        case ResourceType.TOPIC:
            _check_topic_name(name)
            validate.validate_topic_configs(configs, context.topic_defaults)
        case ResourceType.BROKER:
            after = {**layers.cluster, **configs} if name else {**configs, **layers.broker}
            validate.validate_broker_configs(
                configs,
                cluster_default=not name,
                before=layers.in_force,
                after={**layers.settings.static, **after},
            )
        case ResourceType.CLIENT_METRICS:
            if not name:
                raise _bad_request("Subscription name can't be empty")
            validate.validate_client_metrics_configs(configs)
        case ResourceType.GROUP:
            if not name:
                raise _bad_request("Default group resources are not allowed.")
            validate.validate_group_configs(configs, layers.in_force)


def check_existence(image: ClusterImage, key: ConfigKey) -> None:
    if key.resource_type == ResourceType.TOPIC and key.resource_name not in image.topics_by_name:
        text = f"The topic '{key.resource_name}' does not exist."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)


_APPENDABLE: dict[int, Mapping[str, Setting]] = {
    ResourceType.TOPIC: TOPIC,
    ResourceType.BROKER: BROKER,
    ResourceType.GROUP: GROUP,
}


def _check_topic_name(name: str) -> None:
    if not name:
        raise _bad_request("Default topic resources are not allowed.")
    if problem := problem_of_name(name):
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")


def _node_id(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _bad_request(f"Node id must be an integer, but it is: {text}") from None


def _bad_request(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, text)


def _bad_config(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_CONFIG, text)
