"""Archives that are uploaded for Bundles: received over HTTP, stored as ConfigMaps, read by the unpack job of the leader."""
