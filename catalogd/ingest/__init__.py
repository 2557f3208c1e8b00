"""From a source to content on disk: the job that reads a catalog, what it writes, and how that is opened again."""
