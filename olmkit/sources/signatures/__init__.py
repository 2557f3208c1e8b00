"""Signatures of images as cosign makes them: where a registry has them, and which of them a policy accepts. Runs in jobs."""
