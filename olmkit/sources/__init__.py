"""Sources of content: images, git repositories, archives and ConfigMaps. Runs in jobs (olmkit.jobs), not in a controller."""
