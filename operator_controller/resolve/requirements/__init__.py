"""What bundles require of other bundles and of the cluster, and whether it is there. Pure."""
