"""The commands `olm bundle ...`."""
