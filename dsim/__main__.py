"""`python -m dsim`: the same as the command `dsim`."""

import sys

from dsim.cli import main

sys.exit(main())
