"""The controller of kind ClusterCatalog."""
