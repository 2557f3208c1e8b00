"""Summaries of bundles that nobody has installed: made of their images on request, kept by the digest of the image."""
