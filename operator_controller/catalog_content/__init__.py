"""The resolution documents of a catalog on disk: written once per content digest, read by package."""
