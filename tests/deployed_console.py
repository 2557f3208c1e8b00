"""A console in a container or a pod: browsers for it, and a visit to its pages and to all that they name."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from tests.console import RemoteBrowser

SERVICE = "olm-console.olm-suite-system.svc"
PAGES = ("/catalog", "/operators", "/instances", "/catalogs", "/catalogs/new", "/suite")
_ASSET = re.compile(r'(?:href|src)="(/assets/[^"]+)"')


class _At(AbstractResolver):
    """Every host is at one address."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The address."""
        found = ResolveResult(
            hostname=host, host=self._address, port=port, family=socket.AF_INET, proto=0, flags=socket.AI_NUMERICHOST
        )
        return [found]

    async def close(self) -> None:
        """Nothing is open."""


@asynccontextmanager
async def browser_at(address: str, port: int = 443) -> AsyncIterator[RemoteBrowser]:
    """A browser of somebody who accepts the console's own certificate, and finds the host of its Service at an address."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    connector = aiohttp.TCPConnector(ssl=trusting, resolver=_At(address))
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as http:
        yield RemoteBrowser(http, f"https://{SERVICE}:{port}")


async def visit(browser: RemoteBrowser, *pages: str) -> dict[str, str]:
    """The text of each page: it is there, and so is each style sheet, script and icon that it names."""
    texts, assets = {}, set()
    for path in pages or PAGES:
        answer = await browser.get(path)
        assert answer.status == 200, (path, answer.status, answer.text[-2000:])
        texts[path] = answer.text
        assets |= {*_ASSET.findall(answer.text)}
    assert {path.rpartition(".")[2] for path in assets} >= {"css", "js"}
    for path in assets:
        found = await browser.get(path)
        assert (found.status, found.headers.get("Cache-Control", "")[:6]) == (200, "public"), path
    return texts
