"""`python -m olmkit.fbc` runs `olm catalog`. Nothing imports it."""

import sys

from olmctl.main import catalog_main

if __name__ == "__main__":
    sys.exit(catalog_main())
