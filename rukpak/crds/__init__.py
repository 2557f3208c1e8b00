"""Custom resources on the cluster, read for what a new CustomResourceDefinition means for them."""
