"""From OLM v0 to the suite: what its objects become, and how a package is moved without restarting a pod."""
