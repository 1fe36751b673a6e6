"""What a client raises beyond what a broker said. All of it is an ApiError: one `except` catches everything."""

from __future__ import annotations

from collections.abc import Mapping

from klamm.base.errors import ApiError, ErrorCode, code_of
from klamm.base.ids import TopicPartition


class ConnectionLost(ApiError):
    """The request may or may not have taken effect."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.NETWORK_EXCEPTION, message)


class TimedOut(ApiError):
    """Nobody answered in time, or what was waited for did not come about."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.REQUEST_TIMED_OUT, message)


class Unsupported(ApiError):
    """Client and broker have no version of the API in common."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_VERSION, message)


class ProducerFailed(ApiError):
    """The producer can only be closed; `code` says why. Another one with its transactional id may have taken over."""


class TransactionFailed(ApiError):
    """The transaction cannot commit: abort it, then begin a new one."""


class NoOffset(ApiError):
    """Partitions without a usable offset, where `auto_offset_reset` says not to choose one."""

    def __init__(self, asked: Mapping[TopicPartition, int | None]) -> None:
        where = ", ".join(
            str(partition) if offset is None else f"{partition} at {offset}"
            for partition, offset in asked.items()
        )
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, f"there is no offset to read from: {where}")
        self.asked = dict(asked)


class CommitFailed(ApiError):
    """The group has moved on without this member: its partitions may be somebody else's now."""


def check(code: int, message: str | None = None) -> None:
    """Raise what an answer's error code says."""
    if code:
        raise error_of(code, message)


def error_of(code: int, message: str | None = None) -> ApiError:
    return ApiError(code_of(code), message)
