"""catalogd's HTTP API: routes, responses and compressed files of the content in the store."""
