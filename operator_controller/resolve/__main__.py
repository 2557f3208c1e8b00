"""`python -m operator_controller.resolve` runs `olm resolve`. Nothing imports it."""

import sys

from olmctl.main import resolve_main

if __name__ == "__main__":
    sys.exit(resolve_main())
