"""The other replicas: they copy what the leader serves, verify it, and serve it too."""
