"""Ports that any peer may reach: HTTP served within limits of connections, time and bytes.

Used by olmkit.probes (probes and metrics of each process) and catalogd.serving.server (catalogs). Knows nothing of what they
serve.
"""
