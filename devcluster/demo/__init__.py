"""The demo: installs Operators with the suite on a local cluster. The command is `python -m devcluster.demo`."""
