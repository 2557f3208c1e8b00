"""How much each TLS connection of this process may hold for what arrives. Called by who opens or accepts many of them.

asyncio keeps 256 KiB for each connection, whether or not anything is sent; its field for it is undocumented and holds for the
whole process. Never touches a connection that is there already.
"""

from asyncio.sslproto import SSLProtocol

TLS_READ_BUFFER_BYTES = 32 * 1024
"""Bytes: two TLS records."""


def limit_tls_read_buffers() -> None:
    """From now on."""
    SSLProtocol.max_size = TLS_READ_BUFFER_BYTES
