"""rukpak is killed again and again while a fleet of packages is installed, upgraded and removed; the end is that of a run without
kills.

Part of `make crash SEED=... KILLS=200`.
"""
