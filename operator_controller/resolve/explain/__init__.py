"""Explains in sentences why a bundle was selected or a request refused. Pure."""
