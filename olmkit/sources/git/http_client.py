"""git over http and https: dulwich speaks the protocol, transport.py carries it.

Used by git.py. dulwich is synchronous and runs in a thread; each of its requests is made in the event loop, through the
transport of all sources: so addresses are judged when connecting and at every redirect, authorities and proxies are the same,
and a login goes to the host of the repository and to no other. Answers are put down on disk before dulwich reads them: what
trickles, breaks off or never ends is found by the transport.
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
"""Bytes of an answer that lists branches and tags: several hundred thousand of them."""


@dataclass
class DulwichResponse:
    """The part of urllib3's answer that dulwich looks at."""

    body: IO[bytes]
    content_type: str
    redirect_location: str

    def close(self) -> None:
        """The body is gone."""
        self.body.close()


@dataclass(frozen=True)
class GitExchange:
    """How one exchange with a git server is done: the most bytes of a pack, where it is put down (None: the system's folder)."""

    insecure: bool
    limit: int = 0
    folder: Path | None = None
    progress: Callable[[str], None] = lambda line: None


class HttpClient(AbstractHttpGitClient):
    """A client for one repository, made in the event loop; its methods are called in a thread while the loop runs."""

    def __init__(self, address: GitAddress, transport: Transport, access: Access, desk: GitExchange) -> None:
        super().__init__(address.written, thin_packs=False, quiet=True)
        self._fetch_capabilities.discard(b"packfile-uris")
        self._url = URL(address.written.rstrip("/") + "/")
        self._endpoint = endpoint(self._url, "git server", insecure=desk.insecure)
        self._transport = transport
        self._access = access
        self._login = host_login(self._url, access, insecure=desk.insecure)
        self._desk = desk
        self._bridge = ThreadBridge()
        self._based = self._url
        self.fetching = False
        self._bodies: list[IO[bytes]] = []

    def hang_up(self) -> None:
        """End what is under way, and let go of the answers; dulwich forgets some."""
        self._bridge.close()
        for body in self._bodies:
            body.close()

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be told on, should the server say it."""
        return _secrets(self._login.sent)

    async def said(self) -> str:
        """What the server said beside the protocol: over http there is nothing."""
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
        whole = data if data is None or isinstance(data, bytes) else b"".join(data)
        response = self._bridge.wait(self._exchange(URL(url, encoded=True), headers or {}, whole))
        return cast("HTTPResponse", response), response.body.read

    async def _exchange(self, url: URL, headers: dict[str, str], data: bytes | None) -> DulwichResponse:
        """One request. Raises Waiting, and GitProtocolError for a URL that only the server wants to be asked."""
        if not str(url).startswith(str(self._based)):
            raise GitProtocolError("the server names an address of its own")
        asked = {name: value for name, value in headers.items() if name.lower() != "content-length"}
        if self._login.sent is not None and url.origin() == self._url.origin():
            asked["Authorization"] = self._login.sent.basic
        method = "GET" if data is None else "POST"
        with source_reasons():
            async with self._transport.open(method, url, self._endpoint, asked, data) as answer:
                if answer.status != 200:
                    raise error_for_status(
                        answer, f"git repository {quoted(self._url.path.rstrip('/'))}", self._login, self._access
                    )
                if data is None:
                    self._follow(url, answer)
                return await self._put_down(
                    answer, url, fetching=data is not None and LIST_REFS_COMMAND not in data[:64]
                )

    def _follow(self, url: URL, answer: HttpResponse) -> None:
        """Requests go on where the first was sent to; what answers there has to be a git server."""
        kind = answer.header("Content-Type").partition(";")[0].strip()
        tail = str(url).removeprefix(str(self._based))
        if kind != ADVERTISEMENT or not str(answer.url).endswith(tail):
            at = quoted(self._url.path.rstrip("/"))
            words = f"{answer.server} has no git repository at {at}: what it answers is not what git servers do"
            raise Waiting(SourceReason.SOURCE_NOT_FOUND, words, RETRY_DELAY)
        self._based = URL(str(answer.url).removesuffix(tail), encoded=True)

    async def _put_down(self, answer: HttpResponse, asked: URL, *, fetching: bool) -> DulwichResponse:
        limit = self._desk.limit if fetching else MAX_REFS_BYTES
        if answer.header("Content-Encoding").strip().lower() not in ("", "identity"):
            words = f"{answer.server} answers with compressed bytes, which it was not asked for"
            raise Waiting(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY)
        body = tempfile.TemporaryFile(dir=self._desk.folder)  # noqa: SIM115  closed by hang_up
        self._bodies.append(body)
        count = 0
        async for chunk in answer.chunks():
            count += len(chunk)
            if count > limit:
                raise PackError(SourceReason.TOO_LARGE, f"sends more than {limit:,} bytes, the most that is read")
            body.write(chunk)
            if fetching:
                self._desk.progress(f"fetching, {count // MEGABYTE} MB")
        body.seek(0)
        where = str(answer.url)
        return DulwichResponse(body, answer.header("Content-Type"), where if where != str(asked) else "")


def _secrets(login: Login | None) -> tuple[str, ...]:
    return tuple(each for each in (login.password, login.basic.removeprefix("Basic ")) if each) if login else ()
