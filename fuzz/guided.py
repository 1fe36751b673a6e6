"""Drives atheris: coverage of klamm's own code, the compiled decoders among it, says which inputs are worth keeping.

Runs in a process of its own, since libFuzzer never returns: `python -m fuzz.guided TARGET SECONDS CORPUS`.
"""

import hashlib
import logging
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

_MOST_MEMORY_MB = 2048
_LONGEST_INPUT = 64 * 1024


def is_available() -> bool:
    return find_spec("atheris") is not None


def fuzz(target: str, seconds: int, corpus: Path) -> bool:
    """False if there is a finding; libFuzzer has told about it then, and where it left the input."""
    print(f"{target}: {seconds} s", flush=True)
    command = [sys.executable, "-m", "fuzz.guided", target, str(seconds), str(corpus)]
    return subprocess.run(command, check=False).returncode == 0


def _main(name: str, seconds: str, corpus: str) -> None:
    import atheris  # type: ignore[import-untyped]

    folder = Path(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    findings = f"{tempfile.gettempdir()}/klamm-finding-{name}-"
    # libFuzzer ends the process without a word; what targets leave behind goes with the folder.
    tempfile.tempdir = str(folder.parent)
    logging.getLogger("klamm").setLevel(logging.ERROR)
    with atheris.instrument_imports(include=["klamm"]):
        from fuzz.targets import TARGETS
        from klamm.protocol import compile as codecs

        compiled = codecs._compile
        # The decoders are written at run time, so no import brings them in.
        codecs._compile = lambda *args: atheris.instrument_func(compiled(*args))
        target = TARGETS[name]
        for seed in target.seeds():
            (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
            # Some modules are imported by the first who needs them: that must be here.
            target.check(seed)
    options = [
        f"-max_total_time={seconds}",
        f"-rss_limit_mb={_MOST_MEMORY_MB}",
        f"-max_len={_LONGEST_INPUT}",
        f"-artifact_prefix={findings}",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, corpus], target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    _main(*sys.argv[1:])
