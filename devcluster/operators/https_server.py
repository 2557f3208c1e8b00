"""HTTPS with a certificate that is read again when its files change.

No request is lost when a pod leaves: after SIGTERM the server answers for a few seconds more, and closes each connection after an
answer, so that the API server opens its next connection to another pod.
"""

import argparse
import asyncio
import logging
import ssl
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from devcluster.operators.program import Program
from olmkit.runtime.listener.sockets import parse_listen_address

DRAIN_SECONDS = 5.0
"""The time for which requests are answered after SIGTERM: endpoints follow a pod with a delay."""
POLL_SECONDS = 1.0
"""The time between two comparisons of the files: the kubelet replaces them through a symbolic link."""
KEEPALIVE_SECONDS = 300.0
"""Longer than the 90 s after which the API server closes an idle connection: of the two, only the client may close it,
because only it knows whether a request is on its way."""

log = logging.getLogger(__name__)


class ServingCertificate:
    """A certificate and its key in a directory. New connections get what the directory contains.

    With `client_authority`, PEM, clients may have a certificate, which that authority has to have signed.
    """

    def __init__(self, directory: Path, certificate: str, key: str, client_authority: str = "") -> None:
        """Raises OSError or ssl.SSLError if there is no usable certificate."""
        self._certificate, self._key = directory / certificate, directory / key
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        if client_authority:
            self.context.load_verify_locations(cadata=client_authority)
            self.context.verify_mode = ssl.CERT_OPTIONAL
        self._content = self._read()
        self._load()

    async def follow(self) -> None:
        """Load the files whenever they have changed, until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self.reload()

    def reload(self) -> None:
        """Load the files if they have changed. If they cannot be used, the current certificate stays."""
        try:
            content = self._read()
            if content == self._content:
                return
            # A failure would leave the context without a key.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._certificate, self._key)
            self._load()
        except (OSError, ssl.SSLError) as error:
            log.warning("the new certificate cannot be used", extra={"error": str(error)})
            return
        self._content = content
        log.info("serving certificate loaded")

    def _read(self) -> tuple[bytes, bytes]:
        return self._certificate.read_bytes(), self._key.read_bytes()

    def _load(self) -> None:
        self.context.load_cert_chain(self._certificate, self._key)


def add_flags(parser: argparse.ArgumentParser, certificates: str) -> None:
    """--bind-address and --certificates, by default the directory in which the certificate is mounted."""
    parser.add_argument("--bind-address", default=":9443", metavar="ADDRESS")
    parser.add_argument("--certificates", type=Path, default=Path(certificates), metavar="DIRECTORY")


async def serve(program: Program, application: web.Application, certificate: ServingCertificate) -> None:
    """Serve until the program stops and its clients have moved to another pod."""

    @web.middleware
    async def close_after_answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if program.stopping.is_set():
            # With the header `Connection: close`: the client makes no other request on this connection.
            response.force_close()
        return response

    application.middlewares.insert(0, close_after_answer)
    host, port = parse_listen_address(program.arguments.bind_address)
    runner = web.AppRunner(application, access_log=None, keepalive_timeout=KEEPALIVE_SECONDS)
    await runner.setup()
    follower = asyncio.create_task(certificate.follow())
    try:
        await web.TCPSite(runner, host, port, ssl_context=certificate.context).start()
        log.info("listening", extra={"port": port})
        program.started.set()
        await program.stopping.wait()
        await asyncio.sleep(DRAIN_SECONDS)
    finally:
        follower.cancel()
        await runner.cleanup()
