"""All of them, and who asks: each trial has a user of its own, whose rights are given before anybody asks."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from klamm.base.acl import AclPermission, PatternType
from support.guarded import administration, data
from support.guarded.case import TOPIC, Guarded, Right

CASES: list[Guarded] = [
    *data.TOPICS,
    *data.GROUPS,
    *data.TRANSACTIONS,
    *administration.TOPICS,
    *administration.CONFIGS,
    *administration.CLUSTER,
]


class Trial(NamedTuple):
    case: Guarded
    having: str
    rights: tuple[Right, ...]
    user: str

    def __str__(self) -> str:
        return f"{self.case.api} {self.case.name}, having {self.having}"


TRIALS: list[Trial] = [
    Trial(case, having, rights, f"user-{number}-{place}")
    for number, case in enumerate(CASES)
    for place, (having, rights) in enumerate(case.trials().items())
]


def acls() -> list[dict[str, Any]]:
    """The rules that give each user of a trial the rights that it is tried with."""
    return [
        {
            "resource_type": right.resource_type,
            "resource_name": right.name.replace("{user}", trial.user),
            "resource_pattern_type": PatternType.LITERAL,
            "principal": f"User:{trial.user}",
            "host": "*",
            "operation": right.operation,
            "permission_type": AclPermission.ALLOW,
        }
        for trial in TRIALS
        for right in trial.rights
    ]


def topics() -> list[str]:
    return [TOPIC, *(trial.user for trial in TRIALS if trial.case.makes_topic)]


# What says that somebody is denied something.
DENIALS = frozenset({29, 30, 31, 53, 65})
_KEPT = (
    "name",
    "topic",
    "topic_name",
    "group_id",
    "transactional_id",
    "resource_name",
    "key",
    "authorized_operations",
    "topic_authorized_operations",
    "cluster_authorized_operations",
    "num_partitions",
    "replication_factor",
    "is_internal",
)


def outline(answer: Any) -> Any:
    """The error codes of an answer, and what is named in it."""
    if isinstance(answer, dict):
        return {
            key: outline(value)
            for key, value in answer.items()
            if key.endswith("error_code") or key in _KEPT or isinstance(value, dict | list)
        }
    if isinstance(answer, list):
        return sorted((outline(each) for each in answer if isinstance(each, dict | list)), key=repr)
    return answer


def codes(answer: Any) -> Iterator[int]:
    if isinstance(answer, dict):
        for key, value in answer.items():
            if key.endswith("error_code") and key != "topic_config_error_code":
                yield value
            else:
                yield from codes(value)
    elif isinstance(answer, list):
        for each in answer:
            yield from codes(each)
