"""Git repositories as sources, over HTTP and ssh."""
