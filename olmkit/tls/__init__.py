"""TLS for the servers of the suite: certificates that are renewed without a restart, the CAs that clients trust, and tokens.

Servers call `setup`, clients call `client_tls`; the other modules are used by these two. Independent of what is served.
"""
