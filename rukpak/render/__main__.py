"""`python -m rukpak.render` runs `olm bundle render`. Nothing imports it."""

import sys

from olmctl.main import bundle_render_main

if __name__ == "__main__":
    sys.exit(bundle_render_main())
