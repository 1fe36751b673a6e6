"""`python -m fuzz.pipelines`."""

import sys

from fuzz.pipelines.command import main

sys.exit(main(sys.argv[1:]))
