"""Catalogs over HTTP: the table of routes, answers and their encodings, connections. Reads the shelf, never writes it."""
