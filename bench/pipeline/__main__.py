"""`python -m bench.pipeline`."""

import sys

from bench.pipeline.command import main

sys.exit(main(sys.argv[1:]))
