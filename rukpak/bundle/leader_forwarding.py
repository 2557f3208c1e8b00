"""Passes a request for the files of a Bundle on to the replica that leads, with the token of its sender, and its answer back.

The leader checks the token again, so that this replica needs no permission of its own. An annotation of the Lease has the address
of the leader. A request is passed on once: a replica that gets one and does not lead says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from yarl import URL

from olmkit.runtime.listener.http_errors import RETRY_AFTER_HEADER, HTTPError
from olmkit.tls.peers import Peers

ADDRESS_ANNOTATION = "core.rukpak.io/address"
"""The annotation of the Lease with the address of its holder."""
FORWARDED_HEADER = "X-Olm-Suite-Forwarded"
CONNECT_TIMEOUT_SECONDS = 5.0
IDLE_TIMEOUT_SECONDS = 60.0
"""The longest time without a byte of the answer: the leader makes an archive before it sends it."""
_SENT = ("Authorization", "If-None-Match")
_RETURNED = ("Content-Type", "Content-Length", "ETag", "Retry-After")


@dataclass(frozen=True)
class LeaderForwarding:
    """`address` returns host:port of the leader, "" if it is not known."""

    peers: Peers
    address: Callable[[], str]
    _sessions: list[aiohttp.ClientSession] = field(default_factory=list)

    async def close(self) -> None:
        """Close the connections to leaders."""
        while self._sessions:
            await self._sessions.pop().close()

    async def forward(self, request: web.Request) -> web.StreamResponse:
        """The answer of the leader. Raises HTTPError if there is none."""
        address = self.address()
        if not address or FORWARDED_HEADER in request.headers:
            text = "this replica of rukpak does not lead, and does not know the leader: only the leader has content"
            raise HTTPError(503, text, RETRY_AFTER_HEADER)
        url = URL(f"{self.peers.scheme}://{address}{request.raw_path}", encoded=True)
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        headers |= {FORWARDED_HEADER: "true", "Accept-Encoding": "identity"}
        options = {**await self.peers.request_options(), "headers": headers, "allow_redirects": False}
        response: web.StreamResponse | None = None
        try:
            async with self._session().request(request.method, url, **options) as answer:
                kept = {name: answer.headers[name] for name in _RETURNED if name in answer.headers}
                response = web.StreamResponse(status=answer.status, headers=kept)
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
                return response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if response is not None:
                raise ConnectionResetError("the answer of the leader was cut") from error
            raise HTTPError(503, "the leader of rukpak does not answer", RETRY_AFTER_HEADER) from error

    def _session(self) -> aiohttp.ClientSession:
        if not self._sessions:
            timeout = aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=IDLE_TIMEOUT_SECONDS
            )
            jar = aiohttp.DummyCookieJar()
            self._sessions.append(aiohttp.ClientSession(cookie_jar=jar, auto_decompress=False, timeout=timeout))
        return self._sessions[0]
