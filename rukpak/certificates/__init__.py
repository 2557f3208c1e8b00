"""Serving certificates of the webhooks and API services of bundles, issued and rotated by rukpak."""
