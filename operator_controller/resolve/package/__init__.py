"""One package of a catalog: its bundles and channels, the ranges of versions, the upgrade edges. Pure."""
