"""Reads catalogs: the job that loads a source, the content that it writes to disk, and how that content is opened."""
