"""The requirements of bundles on other bundles and on the cluster, and whether they are met. Pure."""
