"""Findings that upstream's validators do not have: faults that keep a bundle from being installed, or that nobody means.

rukpak's reader and renderer find what they refuse (install.py); the other modules find what they do not read.
"""
