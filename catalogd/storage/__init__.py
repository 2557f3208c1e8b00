"""The content that catalogd stores and serves: the store of catalogs, its state file, and the records in it."""
