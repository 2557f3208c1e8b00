"""Catalogs over HTTP: the table of routes, answers and their encodings, connections. Reads the store, never writes it."""
