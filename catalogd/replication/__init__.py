"""Replication between the replicas of catalogd: followers copy the content that the leader serves, verify it and serve it."""
