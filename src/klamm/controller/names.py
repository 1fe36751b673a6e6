"""What a topic may be called."""

from __future__ import annotations

import re

from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.image import ClusterImage, collision_name, may_collide

MAX_NAME_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_new_name(image: ClusterImage, name: str) -> None:
    """An existing topic is reported as such even where its name would not be allowed today."""
    if name in image.topics_by_name:
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if may_collide(name) and (others := image.topics_by_collision.get(collision_name(name))):
        text = f"Topic '{name}' collides with existing topic: {others[0]}"
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, text)
    if problem := problem_of_name(name):
        text = f"Topic name is invalid: {problem}"
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, text)


def problem_of_name(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not _LEGAL.fullmatch(name):
        letters = "ASCII alphanumerics, '.', '_' and '-'"
        return f"'{name}' contains one or more characters other than {letters}"
    return None
