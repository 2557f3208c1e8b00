"""Asks the replica that leads for the summary of a bundle, for the replicas that do not make any.

    GET /replication/v1/summaries/<catalog>/<bundle>?package=&digest=    200 with the compressed summary, else as for clients

As all requests of replication, they have the token of the replica. The bytes are verified before they are kept or sent.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote, urlencode

import aiohttp
import orjson
from yarl import URL

from catalogd.bundle_summaries.summaries import Absent, Answer, AskedBundle, Busy, Pending, Ready
from catalogd.bundle_summaries.summary_task import MAX_COMPRESSED_BYTES, checked
from catalogd.replication.client import CONNECT_TIMEOUT_SECONDS, PeerRequestOptions

SUMMARIES_PATH = "/replication/v1/summaries"
IMAGE_DIGEST_HEADER = "Olm-Image-Digest"
TIMEOUT = aiohttp.ClientTimeout(total=15.0, sock_connect=CONNECT_TIMEOUT_SECONDS)


class LeaderUnavailable(Exception):
    """The leader is not known, or cannot be asked now."""


class LeaderSummaries:
    """Requests to the address that `leader` returns, "" if it is not known. `peers` is how requests to replicas are made."""

    def __init__(self, leader: Callable[[], str], peers: PeerRequestOptions) -> None:
        self._leader = leader
        self._peers = peers
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, asked: AskedBundle, content_digest: str) -> Answer:
        """The answer of the leader. Raises LeaderUnavailable."""
        address = self._leader()
        if not address:
            raise LeaderUnavailable
        query = urlencode({"package": asked.package, "digest": content_digest})
        path = f"{SUMMARIES_PATH}/{quote(asked.catalog, safe='')}/{quote(asked.name, safe='')}?{query}"
        try:
            options = await self._peers.request_options()
            if self._session is None:
                self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)
            url = URL(f"{self._peers.scheme}://{address}{path}", encoded=True)
            async with self._session.get(url, allow_redirects=False, timeout=TIMEOUT, **options) as response:
                data = await response.content.read(MAX_COMPRESSED_BYTES + 1)
                while len(data) <= MAX_COMPRESSED_BYTES and (more := await response.content.read(MAX_COMPRESSED_BYTES)):
                    data += more
                return _answer(response.status, data, response.headers.get(IMAGE_DIGEST_HEADER, ""))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise LeaderUnavailable from error

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


def _answer(status: int, data: bytes, digest: str) -> Answer:
    """Raises ValueError and LeaderUnavailable."""
    match status:
        case 200:
            checked(data)
            return Ready(data, digest)
        case 202:
            return Pending()
        case 404:
            return Absent(str(orjson.loads(data)["error"]))
        case 429:
            return Busy()
    raise LeaderUnavailable
