"""Packages as catalogd serves them: requested over HTTP, cached by digest."""
