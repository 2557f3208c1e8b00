"""Reads YAML, types, text and versions as the Go tools that define the formats do. Pure."""
