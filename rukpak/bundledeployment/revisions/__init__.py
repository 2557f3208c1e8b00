"""The revisions of a BundleDeployment: names of its Bundles, the desired and the active one, history and rollback."""
