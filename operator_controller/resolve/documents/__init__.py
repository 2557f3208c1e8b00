"""Reads the resolution documents of catalogs as packages, and indexes them. Pure."""
