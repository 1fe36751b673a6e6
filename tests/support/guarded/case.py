"""The notation: a request, and the rights that it takes. In any text USER stands for the name of whoever asks."""

from dataclasses import dataclass
from typing import Any

from klamm.base.acl import CLUSTER_NAME, AclOperation, AclResourceType
from klamm.base.ids import Uuid

USER = "{user}"
# A topic that is there, and one that is not.
TOPIC = "guarded"
ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Id:
    """Stands for the id of a topic."""

    topic: str


@dataclass(frozen=True, slots=True)
class Right:
    resource_type: AclResourceType
    name: str
    operation: AclOperation


def on_topic(operation: AclOperation, name: str = TOPIC) -> Right:
    return Right(AclResourceType.TOPIC, name, operation)


def on_group(operation: AclOperation, name: str = USER) -> Right:
    return Right(AclResourceType.GROUP, name, operation)


def on_transaction(operation: AclOperation) -> Right:
    return Right(AclResourceType.TRANSACTIONAL_ID, USER, operation)


def on_cluster(operation: AclOperation) -> Right:
    return Right(AclResourceType.CLUSTER, CLUSTER_NAME, operation)


@dataclass(frozen=True, slots=True)
class Guarded:
    """`rights` are all it takes. `any_of`: each of these is enough for it alone."""

    name: str
    api: str
    values: dict[str, Any]
    rights: tuple[Right, ...] = ()
    any_of: tuple[Right, ...] = ()
    # Tried too, and not enough.
    not_enough: tuple[Right, ...] = ()
    version: int | None = None
    # What is not there for whoever lacks the rights, and no error says so.
    hides: str = ""
    # A topic of this name is made for each user.
    makes_topic: bool = False

    def trials(self) -> dict[str, tuple[Right, ...]]:
        """With which rights the request is tried."""
        found: dict[str, tuple[Right, ...]] = {"nothing": ()}
        for each in (*self.rights, *self.any_of, *self.not_enough):
            found[f"{each.operation.name} on {each.resource_type.name} alone"] = (each,)
        if len(self.rights) > 1:
            found["all rights"] = self.rights
        return found

    def is_enough(self, rights: tuple[Right, ...]) -> bool:
        if self.rights and not set(self.rights) - set(rights):
            return True
        return any(each in rights for each in self.any_of)


def filled_in(values: Any, user: str, topic_ids: dict[str, Uuid]) -> Any:
    match values:
        case dict():
            return {key: filled_in(value, user, topic_ids) for key, value in values.items()}
        case list():
            return [filled_in(value, user, topic_ids) for value in values]
        case str():
            return values.replace(USER, user)
        case Id(topic):
            return topic_ids[topic.replace(USER, user)]
    return values
