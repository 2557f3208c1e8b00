"""Catalog -> content by digest on disk -> HTTP, and Package objects. Meets the others only through CRDs and HTTP."""
