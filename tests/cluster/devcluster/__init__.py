"""devcluster with real clusters: start, use, faults and removal."""
