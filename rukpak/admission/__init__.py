"""The admission webhooks of rukpak, and whether the API server asks them."""
