"""What a check program in another language printed: a line "ok NAME" or "FAILED NAME: REASON" per check."""

import re


def outcomes(printed: str) -> dict[str, str]:
    """The outcome of each check, in order: "ok", or the reason why it failed."""
    lines = re.findall(r"^(ok|FAILED) ([^:\n]+)(?:: (.*))?$", printed, re.MULTILINE)
    return {name: "ok" if word == "ok" else why for word, name, why in lines}
