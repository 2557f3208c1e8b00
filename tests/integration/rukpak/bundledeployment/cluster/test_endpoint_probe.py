"""Endpoints as they are found: with another certificate, not listening, silent."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rukpak.bundledeployment.cluster.endpoint_probe import REFUSAL_PATIENCE, state_of
from rukpak.certificates import secrets
from rukpak.certificates.serving_certificate import ServingCertificate, Step
from rukpak.render.endpoints import CertificateMode, Endpoint, Port

NOW = datetime.now(UTC)
NAMES = ("web-service.ns", "web-service.ns.svc")
LOOPBACK = "127.0.0.1"


@contextlib.asynccontextmanager
async def listening(directory: Path, *, is_silent: bool = False) -> AsyncIterator[tuple[int, ServingCertificate]]:
    """A server with a certificate of its own; a silent one never answers a handshake."""
    data = secrets.changed(None, Step.ISSUE, NAMES, NOW)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for name in ("tls.crt", "tls.key"):
        (directory / name).write_bytes(data[name])
    context.load_cert_chain(directory / "tls.crt", directory / "tls.key")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, LOOPBACK, 0, ssl=None if is_silent else context)
    try:
        yield server.sockets[0].getsockname()[1], secrets.read({"data": secrets.encoded(data)}, NAMES)
    finally:
        server.close()


def slices(port: int, *, ready: bool | None = True) -> list[dict[str, Any]]:
    conditions = {} if ready is None else {"ready": ready}
    return [{"ports": [{"port": port}], "endpoints": [{"addresses": [LOOPBACK], "conditions": conditions}]}]


def endpoint(port: int = 443) -> Endpoint:
    return Endpoint("web", "ns", CertificateMode.SELF, (Port(443, port),), frozenset())


async def asked(
    found: list[dict[str, Any]],
    certificate: ServingCertificate | None,
    refused_since: datetime | None = None,
    now: datetime = NOW,
) -> str:
    return (await state_of(found, endpoint(), certificate, refused_since, now)).problem


@pytest.mark.parametrize("ready", [True, None], ids=["ready", "nothing is said"])
async def test_a_server_with_the_certificate_of_the_secret_can_be_called(tmp_path: Path, ready: bool | None) -> None:
    async with listening(tmp_path) as (port, certificate):
        assert await asked(slices(port, ready=ready), certificate) == ""


async def test_a_pod_that_is_not_ready_is_not_asked(tmp_path: Path) -> None:
    async with listening(tmp_path) as (port, certificate):
        assert await asked(slices(port, ready=False), certificate) == "no pod of Deployment web is ready"
    assert await asked([], certificate) == "no pod of Deployment web is ready"


async def test_a_server_with_another_certificate_is_never_called(tmp_path: Path) -> None:
    other = secrets.read({"data": secrets.encoded(secrets.changed(None, Step.ISSUE, NAMES, NOW))}, NAMES)
    async with listening(tmp_path) as (port, _):
        for now in (NOW, NOW + REFUSAL_PATIENCE):
            why = await asked(slices(port), other, NOW, now)
            assert "is not the one of Secret web-service-cert" in why
            assert "set certificates to None" in why
        assert await asked(slices(port), None) == "", "who issues it knows which is right"


async def test_a_server_that_does_not_answer_a_handshake_may_be_out_of_reach(tmp_path: Path) -> None:
    async with listening(tmp_path, is_silent=True) as (port, certificate):
        assert await asked(slices(port), certificate) == ""


async def test_a_refused_connection_is_waited_for_a_while() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))  # bound and not listening: nobody else can listen there
        found, text = slices(taken.getsockname()[1]), "Deployment web refuses connections"
        since, later = None, NOW + REFUSAL_PATIENCE / 2
        for now, problem in ((NOW, text), (later, text), (NOW + REFUSAL_PATIENCE, "")):
            state = await state_of(found, endpoint(), None, since, now)
            since = state.refused_since
            assert (state.problem, since) == (problem, NOW)
        assert (await state_of([], endpoint(), None, since, later)).refused_since is None, (
            "it begins again with another pod"
        )
