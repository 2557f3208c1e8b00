"""The input of resolution: what Operators request, what runs, which catalogs there are. Values alone. Pure."""
