"""devcluster itself: clusters that come, serve, are disturbed, and go without a trace."""
