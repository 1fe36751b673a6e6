"""`python -m cluster.writer BOOTSTRAP TOPIC`: writes until its stdin ends, reads all back, and prints what it was promised."""

import json
import sys
from types import SimpleNamespace
from typing import cast

from cluster.processes import Ledger, Load, RealCluster


def main(bootstrap: str, topic: str) -> None:
    ledger = Ledger(cast(RealCluster, SimpleNamespace(bootstrap=bootstrap)), topic)
    ledger.write(1, seconds=60)
    print("writing", flush=True)
    with Load(ledger):
        sys.stdin.read()
    ledger.check()
    print(json.dumps({"acknowledged": len(ledger.acknowledged), "refused": len(ledger.refused)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
