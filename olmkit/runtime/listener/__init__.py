"""Ports that any peer may reach: HTTP served within limits of connections, time and bytes.

Used by olmkit.runtime.probes (probes and metrics of each process) and catalogd.http.server (catalogs). Knows nothing of what they
serve.
"""
