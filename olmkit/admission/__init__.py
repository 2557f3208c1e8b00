"""Validating admission webhooks of the suite: what the API server asks before it accepts a write of an object."""
