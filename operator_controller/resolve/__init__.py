"""Resolution: which bundle of a package satisfies an Operator, and why. A Snapshot in, an explained Resolution out. Pure."""
