"""The last lines that a broker has logged, as far as the test's logging lets them pass."""

from __future__ import annotations

import logging
import threading
from collections import deque

_MOST_LINES = 500
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class Notes(logging.Handler):
    """Those of one broker: it logs in the thread of its loop."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(_FORMAT))
        self._thread = threading.get_ident()
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self._lines.append(self.format(record))

    def begin(self) -> None:
        self._thread = threading.get_ident()
        logging.getLogger("klamm").addHandler(self)

    def end(self) -> None:
        logging.getLogger("klamm").removeHandler(self)

    def text(self) -> str:
        return "\n".join(self._lines)

    def forget(self) -> None:
        self._lines.clear()
