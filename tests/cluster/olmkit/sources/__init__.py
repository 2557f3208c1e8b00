"""Tests of olmkit/sources against a real registry."""
