"""The size of asyncio's read buffer of each TLS connection in this process.

The class attribute that sets the size is undocumented and applies to the whole process; docs/decisions/0028 shows what it saves.
Existing connections keep their buffers.
"""

from asyncio.sslproto import SSLProtocol

TLS_READ_BUFFER_BYTES = 32 * 1024
"""The size of two TLS records."""


def limit_tls_read_buffers() -> None:
    """Set the buffer size of all TLS connections that are made afterwards."""
    SSLProtocol.max_size = TLS_READ_BUFFER_BYTES
