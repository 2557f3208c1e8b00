"""Changes of the cluster reach the pages that show it."""
