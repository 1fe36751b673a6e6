"""What a sink could not do, in one sentence each. No Spark here: tasks raise these, too."""

from __future__ import annotations

import re


class SinkFailed(Exception):
    """The text is for the user. Another try would end the same way."""


class SinkUnreachable(SinkFailed):
    """Nothing is wrong with the pipeline; the cluster did not answer as it should, and another try may pass."""


class MarkerLost(SinkFailed):
    """Nobody can tell whether the batch is in the sink. Writing it might double it, so a person decides."""


class Superseded(SinkFailed):
    """A newer run of the same pipeline took over; this one must end."""


_KINDS = {kind.__name__: kind for kind in (SinkFailed, SinkUnreachable, MarkerLost, Superseded)}
# The last line of a Python traceback, wherever Spark has put it in its own text.
_RAISED = re.compile(rf"^{re.escape(__name__)}\.({'|'.join(_KINDS)}): (.+)$", re.MULTILINE)


def raised_in_task(error: Exception) -> SinkFailed | None:
    """What a task of ours raised, out of the long text with which Spark reports it."""
    found = _RAISED.search(str(error))
    return _KINDS[found[1]](found[2].strip()) if found else None
