"""Content by digest on disk: written whole, verified, removed."""
