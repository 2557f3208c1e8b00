"""From a bundle's values to the Kubernetes objects that install it. Pure."""
