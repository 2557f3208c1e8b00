"""TLS contexts of a server and of a client that trusts it, with a new certificate authority."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

from olmkit.tls.certificate_authority import create

Contexts = tuple[ssl.SSLContext, ssl.SSLContext]


def contexts_in(directory: Path) -> Contexts:
    """The contexts of the server, localhost, and of a client. The key pair of the server is written to `directory`."""
    material = create(["localhost", "127.0.0.1"], datetime.now(UTC))
    pair = directory / "pair.pem"
    pair.write_bytes(material.leaf.chain + material.leaf.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair)
    return server, ssl.create_default_context(cadata=material.ca_bundle().decode())
