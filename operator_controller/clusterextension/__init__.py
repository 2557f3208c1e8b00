"""The reconciler of ClusterExtension v1: turns one into the Operator that it owns, and reports what that Operator reports."""
