"""The way of a bundle's objects to the cluster: order of phases, server-side apply, takeover, Namespaces, certificates."""
