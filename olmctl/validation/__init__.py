"""`olm bundle validate`: the rules for bundles, as upstream's validators apply them, and rules beyond those."""
