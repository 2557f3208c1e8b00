"""From the resolution documents of catalogs to packages and their index. Pure."""
