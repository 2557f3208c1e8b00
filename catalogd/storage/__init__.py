"""What is served under which name: the shelf, its note on disk, and the records it holds."""
