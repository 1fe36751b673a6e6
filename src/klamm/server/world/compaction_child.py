"""The process that compacts logs: `python -m klamm.server.world.compaction_child PARENT`.

Questions come in and answers go out as pickles, one at a time; end of input is the end. What goes wrong with the files
is an answer, everything else ends the process.
"""

import ctypes
import os
import pickle
import signal
import sys
from typing import BinaryIO

from klamm.base.errors import ApiError
from klamm.log.compaction.cleaner import Cleaning, Copied
from klamm.log.disk import RealDisk
from klamm.server.world.compaction import Pace, Plan
from klamm.server.world.compaction_process import Answer

# Behind those who serve requests.
_NICENESS = 10
_PR_SET_PDEATHSIG = 1


def main() -> None:
    # Sent to all processes of a broker at once. The parent hears of it too, and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(_NICENESS)
    _die_with(int(sys.argv[1]))
    serve(sys.stdin.buffer, sys.stdout.buffer)


def _die_with(parent: int) -> None:
    """A broker that is killed and started again must find nobody at work on its files."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit()


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    cleaning: Cleaning | None = None
    while True:
        try:
            question = pickle.load(questions)
        except EOFError:
            return
        if question[0] == "begin":
            _, job, bytes_per_second = question
            cleaning = Cleaning(RealDisk(), job, Pace(bytes_per_second))
        assert cleaning is not None
        pickle.dump(_answer(cleaning, question), answers)
        answers.flush()


def _answer(cleaning: Cleaning, question: tuple[object, ...]) -> Answer:
    try:
        if question[0] == "begin":
            cleaning.build_map()
            return Answer(Plan(cleaning.end_offset, cleaning.groups()))
        return Answer(_copy(cleaning, question[1]))
    except OSError as e:
        return Answer(os_error=(e.errno, e.strerror, e.filename))
    except ApiError as e:
        return Answer(refusal=str(e))


def _copy(cleaning: Cleaning, group: object) -> Copied | None:
    assert isinstance(group, list)
    return cleaning.copy(group)


if __name__ == "__main__":
    main()
