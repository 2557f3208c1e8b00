"""Tests of the pure parts of olmkit/sources."""
