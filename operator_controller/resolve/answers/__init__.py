"""From a snapshot of the cluster to the answer for each Operator. Pure."""
