"""The HTTPS server of the operators: its certificate follows the files, and its clients leave it before it ends."""

from __future__ import annotations

import argparse
import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
from aiohttp import web
from cryptography.hazmat.primitives.serialization import Encoding

from devcluster.allocation import free_port
from devcluster.operators.https_server import ServingCertificate, serve
from devcluster.operators.program import Program
from olmkit.runtime.client import Client
from olmkit.tls import certificate_authority
from olmkit.tls.certificate_authority import CertificateSet


def write(directory: Path) -> CertificateSet:
    """Write a new certificate for loopback."""
    found = certificate_authority.create(["127.0.0.1"], datetime.now(UTC))
    (directory / "tls.crt").write_bytes(found.leaf.chain)
    (directory / "tls.key").write_bytes(found.leaf.key)
    return found


def served(port: int) -> bytes:
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port), timeout=10))


def leaf(found: CertificateSet) -> bytes:
    return found.leaf.certificate.public_bytes(Encoding.DER)


async def hello(_: web.Request) -> web.Response:
    return web.Response(text="hello")


@asynccontextmanager
async def running(certificate: ServingCertificate) -> AsyncIterator[tuple[Program, int]]:
    """The server, and its port."""
    port = free_port()
    program = Program(Client(), argparse.Namespace(bind_address=f"127.0.0.1:{port}"))
    application = web.Application()
    application.router.add_get("/", hello)
    task = asyncio.create_task(serve(program, application, certificate))
    await program.started.wait()
    try:
        yield program, port
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_changed_certificate_is_served(tmp_path: Path) -> None:
    first = write(tmp_path)
    certificate = ServingCertificate(tmp_path, "tls.crt", "tls.key")
    async with running(certificate) as (_, port):
        assert await asyncio.to_thread(served, port) == leaf(first)
        second = write(tmp_path)
        while await asyncio.to_thread(served, port) != leaf(second):
            pass


async def test_files_that_do_not_fit_leave_the_current_certificate(tmp_path: Path) -> None:
    first = write(tmp_path)
    certificate = ServingCertificate(tmp_path, "tls.crt", "tls.key")
    async with running(certificate) as (_, port):
        other = certificate_authority.create(["127.0.0.1"], datetime.now(UTC))
        (tmp_path / "tls.key").write_bytes(other.leaf.key)
        certificate.reload()
        assert await asyncio.to_thread(served, port) == leaf(first)


async def test_a_server_that_stops_asks_its_clients_to_leave(tmp_path: Path) -> None:
    found = write(tmp_path)
    context = ssl.create_default_context(cadata=found.ca.chain.decode())
    certificate = ServingCertificate(tmp_path, "tls.crt", "tls.key")
    async with running(certificate) as (program, port), aiohttp.ClientSession() as session:
        async with session.get(f"https://127.0.0.1:{port}/", ssl=context) as answer:
            assert (answer.status, answer.headers.get("Connection")) == (200, None)
        program.stopping.set()
        async with session.get(f"https://127.0.0.1:{port}/", ssl=context) as answer:
            assert (answer.status, answer.headers.get("Connection")) == (200, "close")
