"""git over http and https: dulwich implements the protocol, transport.py sends the requests.

Each of its requests is sent in the event loop through the transport of all sources. So addresses are checked at every connection
and redirect, authorities and proxies are the same, and a login is sent to the host of the repository only. Responses are written
to disk before dulwich reads them, so the transport detects those that are slow, end early or are too large.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from dulwich.client import AbstractHttpGitClient
from dulwich.errors import GitProtocolError
from yarl import URL

from olmkit.errors import Waiting
from olmkit.sources.access import Access
from olmkit.sources.credentials import Login
from olmkit.sources.errors import RETRY_DELAY, SourceReason, quoted
from olmkit.sources.git.address import GitAddress
from olmkit.sources.git.pack import PackError
from olmkit.sources.git.thread_bridge import ThreadBridge
from olmkit.sources.http_auth import endpoint, error_for_status, host_login, source_reasons
from olmkit.sources.transport import HttpResponse, Transport

if TYPE_CHECKING:
    from dulwich.client import HTTPResponse

MEGABYTE = 1_000_000
ADVERTISEMENT = "application/x-git-upload-pack-advertisement"
LIST_REFS_COMMAND = b"command=ls-refs"
MAX_REFS_BYTES = 32 * 1024**2
"""Bytes of a response that lists branches and tags: several hundred thousand of them."""


@dataclass
class DulwichResponse:
    """The attributes of a urllib3 response that dulwich uses."""

    body: IO[bytes]
    content_type: str
    redirect_location: str

    def close(self) -> None:
        """Close the body."""
        self.body.close()


@dataclass(frozen=True)
class GitExchange:
    """Options of one exchange with a git server: the limit of a pack in bytes, a directory for temporary files (None: /tmp)."""

    insecure: bool
    limit: int = 0
    directory: Path | None = None
    progress: Callable[[str], None] = lambda line: None


class HttpClient(AbstractHttpGitClient):
    """A client for one repository, made in the event loop; its methods are called in a thread while the loop runs."""

    def __init__(self, address: GitAddress, transport: Transport, access: Access, exchange: GitExchange) -> None:
        super().__init__(address.written, thin_packs=False, quiet=True)
        self._fetch_capabilities.discard(b"packfile-uris")
        self._url = URL(address.written.rstrip("/") + "/")
        self._endpoint = endpoint(self._url, "git server", insecure=exchange.insecure)
        self._transport = transport
        self._access = access
        self._login = host_login(self._url, access, insecure=exchange.insecure)
        self._exchange_options = exchange
        self._bridge = ThreadBridge()
        self._redirected_url = self._url
        self.fetching = False
        self._bodies: list[IO[bytes]] = []

    def disconnect(self) -> None:
        """Cancel requests and close all response bodies; dulwich does not close all of them."""
        self._bridge.close()
        for body in self._bodies:
            body.close()

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not appear in messages, even if the server sends them."""
        return _secrets(self._login.sent)

    async def server_output(self) -> str:
        """The server's error output outside the protocol. There is none over http."""
        return ""

    def _get_url(self, path: str | bytes) -> str:
        return str(self._url)

    def _http_request(
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> tuple[HTTPResponse, Callable[[int], bytes]]:
        body = data if data is None or isinstance(data, bytes) else b"".join(data)
        response = self._bridge.wait(self._exchange(URL(url, encoded=True), headers or {}, body))
        return cast("HTTPResponse", response), response.body.read

    async def _exchange(self, url: URL, headers: dict[str, str], data: bytes | None) -> DulwichResponse:
        """Send one request. Raises Waiting, and GitProtocolError for a URL outside the repository."""
        if not str(url).startswith(str(self._redirected_url)):
            raise GitProtocolError("the server names another address")
        sent = {name: value for name, value in headers.items() if name.lower() != "content-length"}
        if self._login.sent is not None and url.origin() == self._url.origin():
            sent["Authorization"] = self._login.sent.basic
        method = "GET" if data is None else "POST"
        with source_reasons():
            async with self._transport.open(method, url, self._endpoint, sent, data) as response:
                if response.status != 200:
                    raise error_for_status(
                        response, f"git repository {quoted(self._url.path.rstrip('/'))}", self._login, self._access
                    )
                if data is None:
                    self._follow_redirect(url, response)
                return await self._save(response, url, fetching=data is not None and LIST_REFS_COMMAND not in data[:64])

    def _follow_redirect(self, url: URL, response: HttpResponse) -> None:
        """Send later requests to the target of the first redirect, which has to be a git server."""
        content_type = response.header("Content-Type").partition(";")[0].strip()
        suffix = str(url).removeprefix(str(self._redirected_url))
        if content_type != ADVERTISEMENT or not str(response.url).endswith(suffix):
            at = quoted(self._url.path.rstrip("/"))
            words = f"{response.server} has no git repository at {at}: its response is not that of a git server"
            raise Waiting(SourceReason.SOURCE_NOT_FOUND, words, RETRY_DELAY)
        self._redirected_url = URL(str(response.url).removesuffix(suffix), encoded=True)

    async def _save(self, response: HttpResponse, sent: URL, *, fetching: bool) -> DulwichResponse:
        limit = self._exchange_options.limit if fetching else MAX_REFS_BYTES
        if response.header("Content-Encoding").strip().lower() not in ("", "identity"):
            words = f"{response.server} sent a compressed response that was not requested"
            raise Waiting(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY)
        body = tempfile.TemporaryFile(dir=self._exchange_options.directory)  # noqa: SIM115  closed by disconnect
        self._bodies.append(body)
        count = 0
        async for chunk in response.chunks():
            count += len(chunk)
            if count > limit:
                raise PackError(SourceReason.TOO_LARGE, f"sends more than {limit:,} bytes, the most that is read")
            body.write(chunk)
            if fetching:
                self._exchange_options.progress(f"fetching, {count // MEGABYTE} MB")
        body.seek(0)
        final_url = str(response.url)
        return DulwichResponse(body, response.header("Content-Type"), final_url if final_url != str(sent) else "")


def _secrets(login: Login | None) -> tuple[str, ...]:
    return tuple(each for each in (login.password, login.basic.removeprefix("Basic ")) if each) if login else ()
