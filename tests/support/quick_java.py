"""Java that starts quickly. The tests of Spark start it some ten times, for seconds each: much of that is its start."""

import os

# A short life: what the second compiler and a collector of many threads would gain comes too late, and the classes of
# the jars that we chose need no second look.
_SHORT_LIFE = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)


def start_java_quickly() -> None:
    """Every Java that this process or its children start from now on."""
    os.environ["JDK_JAVA_OPTIONS"] = _SHORT_LIFE
