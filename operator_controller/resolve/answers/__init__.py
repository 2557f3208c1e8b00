"""Makes the answer for each Operator from a snapshot of the cluster. Pure."""
