"""GitOps tools and a git server as processes on this machine, connected to a cluster. Never shipped."""
