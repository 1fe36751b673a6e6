"""`python -m chaos.pipeline`."""

import sys

from chaos.pipeline.command import main

sys.exit(main(sys.argv[1:]))
