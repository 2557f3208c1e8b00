"""The nodes of a cluster: simulated ones, or one real node that runs pods."""
