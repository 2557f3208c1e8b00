"""Tests of olmkit/jobs: real child processes, no mocks."""
