"""Warnings about clients, a few at a time: whoever can make us log a line could otherwise fill the disk with them."""

from __future__ import annotations

import logging

_LINES = 10
_SECONDS = 10.0


class Complaints:
    __slots__ = ("_left", "_log", "_since", "_unsaid")

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._left = _LINES
        self._unsaid = 0
        self._since = 0.0

    def warn(self, now: float, text: str, *facts: object) -> None:
        self.catch_up(now)
        if self._left:
            self._left -= 1
            self._log.warning(text, *facts)
        else:
            self._unsaid += 1

    def catch_up(self, now: float) -> None:
        """Begin a new page; say how many lines the old one had no room for."""
        if now - self._since < _SECONDS:
            return
        if self._unsaid:
            self._log.warning("left out %d warnings like the last ones", self._unsaid)
        self._left, self._unsaid, self._since = _LINES, 0, now
