"""What catalogd serves, kept on disk by digest: requested over HTTP, written once, read by package."""
