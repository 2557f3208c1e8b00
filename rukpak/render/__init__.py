"""Renders bundles: from the values of rukpak.format to the Kubernetes objects that install a bundle. Pure."""
