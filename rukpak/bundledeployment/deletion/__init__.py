"""Deletion of the objects that left a bundle, and of everything when a BundleDeployment is deleted; rules for what stays."""
