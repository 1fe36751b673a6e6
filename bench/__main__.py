"""`python -m bench`."""

import sys

from bench.command import main

sys.exit(main(sys.argv[1:]))
