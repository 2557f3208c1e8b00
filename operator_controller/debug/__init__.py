"""The HTTPS server of operator-controller for questions about its decisions."""
