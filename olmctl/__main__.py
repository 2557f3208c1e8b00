"""`python -m olmctl`: the same as `olm`."""

import sys

from olmctl.main import main

if __name__ == "__main__":
    sys.exit(main())
