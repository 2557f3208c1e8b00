"""Finds what another bundle would change: objects, permissions and CustomResourceDefinitions, compared with those that run.
Pure."""
