"""The cluster as rukpak reads and watches it: installed objects, REST mapper, usage of CRDs, endpoints of webhooks."""
