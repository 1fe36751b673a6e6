"""`python -m chaos`."""

import sys

from chaos.command import main

sys.exit(main(sys.argv[1:]))
