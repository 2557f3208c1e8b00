"""The demo: a cluster, the suite and Operators on it, told as a story. `python -m devcluster.demo` is the command."""
