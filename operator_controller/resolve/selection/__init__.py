"""Which bundles may be selected together: components, the versions of each package, and the order of their steps. Pure."""
