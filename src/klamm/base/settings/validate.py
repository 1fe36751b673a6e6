"""Whether a change of settings that a client asks for is allowed; the answer is Kafka's code and Kafka's sentence.

Each function gets the settings of a resource as they would be after the change, and raises ApiError or returns.
"""

import re
from collections.abc import Mapping

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.broker import NOTHING
from klamm.base.settings.client_metrics import SELECTORS
from klamm.base.settings.declare import InvalidValueError, Mode, Setting
from klamm.base.settings.kinds import Kind
from klamm.base.settings.rules import Values, broken_rules, out_of_bounds
from klamm.base.settings.table import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    find_broker_setting,
    without_listener,
)
from klamm.base.settings.topic import TOPIC, TopicSettings, with_overrides

# Key material changes per listener only, so that one mistake does not cut all listeners off.
_PER_LISTENER = frozenset(
    name
    for name in BROKER
    if name.startswith(("ssl.keystore.", "ssl.truststore.")) or name == "ssl.key.password"
)
# Settings of Kafka's thread pools, which may at most double or halve in one step.
_THREADS = (
    "num.io.threads",
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
)
_LISTENERS = ("listeners", "listener.security.protocol.map")
# These belong to every listener and may be set for the whole cluster even so.
_CLUSTER_WIDE_OF_LISTENER = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)


def validate_topic_configs(configs: Mapping[str, str], defaults: TopicSettings) -> None:
    """All settings of one topic; `defaults` are those of a topic that sets nothing."""
    for name in configs:
        _known(TOPIC, "topic", name)
    settings = with_overrides(defaults, configs)
    least, most = settings.min_compaction_lag_ms, settings.max_compaction_lag_ms
    if least > most:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            "conflict topic config setting min.compaction.lag.ms "
            f"({least}) > max.compaction.lag.ms ({most})",
        )
    if settings.remote_storage_enable:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        )


def validate_broker_config(name: str, value: str) -> None:
    """One dynamic setting of a broker; a name that nobody knows is a plug-in's affair and passes."""
    declared = find_broker_setting(name)
    if declared is None or (without_listener(name) is not None and declared.mode is Mode.READ_ONLY):
        return
    try:
        declared.read(value)
    except InvalidValueError as error:
        raise ApiError(ErrorCode.INVALID_REQUEST, error.message) from None


def validate_broker_configs(
    configs: Mapping[str, str],
    *,
    cluster_default: bool,
    before: Mapping[str, str],
    after: Mapping[str, str],
) -> None:
    """All dynamic settings of one broker, or the cluster's defaults.

    `before` and `after` are all texts in force on this broker, without and with the change.
    """
    _refuse(
        "Cannot update these configs dynamically", [name for name in configs if _is_read_only(name)]
    )
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        [name for name in configs if name in _PER_LISTENER],
    )
    for name, value in configs.items():
        validate_broker_config(name, value)
    if cluster_default:
        _refuse(
            "Cannot update these configs at default cluster level, broker id must be specified",
            [name for name in configs if _is_per_broker(name)],
        )
    _validate_threads(configs, Values(before))
    for broken in broken_rules(after):
        raise ApiError(ErrorCode.INVALID_REQUEST, broken.for_client)


def validate_group_configs(configs: Mapping[str, str], broker: Mapping[str, str] = NOTHING) -> None:
    """All settings of one group; `broker` are the broker's texts, whose bounds hold for groups."""
    for name in configs:
        _known(GROUP, "group", name)
    read = {name: GROUP[name].read(text) for name, text in configs.items()}
    for name, value in read.items():
        theme, _, rest = name.partition(".")
        least, most = f"group.{theme}.min.{rest}", f"group.{theme}.max.{rest}"
        if name == "streams.num.standby.replicas":
            most = "group.streams.max.standby.replicas"
        if isinstance(value, int) and (
            sentence := out_of_bounds(name, value, least, most, Values(broker))
        ):
            raise ApiError(ErrorCode.INVALID_CONFIG, sentence)


def validate_client_metrics_configs(configs: Mapping[str, str]) -> None:
    """All settings of one subscription to client metrics."""
    for name, text in configs.items():
        if name not in CLIENT_METRICS:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}"
            )
        value = CLIENT_METRICS[name].read(text)
        if isinstance(value, int) and not 100 <= value <= 3_600_000:
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                f"Invalid value {text} for {name}, interval must be between 100 and 3600000 (1 hour)",
            )
        if name == "match":
            assert isinstance(value, tuple)
            for pattern in value:
                _validate_match(pattern)


def is_list(table: Mapping[str, Setting], name: str) -> bool:
    """Whether a client may append to a setting and subtract from it."""
    return name in table and table[name].kind is Kind.LIST


def _known(table: Mapping[str, Setting], resource: str, name: str) -> Setting:
    if name not in table:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown {resource} config name: {name}")
    return table[name]


def _is_read_only(name: str) -> bool:
    # Deviation: Kafka opens and closes listeners while it runs; klamm keeps those it started with.
    return name in BROKER and (BROKER[name].mode is Mode.READ_ONLY or name in _LISTENERS)


def _is_per_broker(name: str) -> bool:
    if (inner := without_listener(name)) is not None:
        return inner not in _CLUSTER_WIDE_OF_LISTENER
    return name in BROKER and BROKER[name].mode is Mode.PER_BROKER


def _refuse(sentence: str, names: list[str]) -> None:
    if names:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{sentence}: [{', '.join(names)}]")


def _validate_threads(configs: Mapping[str, str], before: Values) -> None:
    for name in _THREADS:
        if name not in configs:
            continue
        asked, now = int(configs[name]), before.number(name)
        if asked > now * 2:
            limit = f"value should not be greater than double the current value {now}"
        elif asked < now // 2:
            limit = f"value should be at least half the current value {now}"
        else:
            continue
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update "
            f"validation failed for {name}={asked}, {limit} for configuration Invalid dynamic configuration",
        )


def _validate_match(pattern: str) -> None:
    selector, *rest = (part.strip() for part in pattern.split("="))
    try:
        if selector in SELECTORS and len(rest) == 1 and rest[0]:
            re.compile(rest[0])
            return
    except re.error:
        pass
    raise ApiError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")
