"""From OLM v1 to the suite: its objects stay, and what it has installed is taken over without restarting a pod."""
