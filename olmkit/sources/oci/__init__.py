"""Images of OCI registries as sources: reference, manifest, layers."""
