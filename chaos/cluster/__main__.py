"""`python -m chaos.cluster`."""

import sys

from chaos.cluster.command import main

sys.exit(main(sys.argv[1:]))
