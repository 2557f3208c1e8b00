"""The cache of what catalogd serves: requested over HTTP, written once per digest, read by package."""
