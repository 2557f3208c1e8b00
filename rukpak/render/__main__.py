"""`python -m rukpak.render` runs `olm bundle render`. Nothing imports it."""

import sys

from olmctl.bundle.render import main

if __name__ == "__main__":
    sys.exit(main())
