"""Reads the resolution documents of a whole catalog from catalogd over HTTP, and keeps them by digest.

CatalogClient never raises for a catalog that cannot be read: the result reports it, with the catalog's last content if that is
stored. Content that is stored is never requested again. It is verified and stored by content_store.py; the solver process reads
the documents from disk. The documents of all packages are requested, whatever spec.packages names: an edit of that list counts at
once, and no content is read again for it.

CatalogSession sends the requests: which CAs are trusted, which token is sent, and retries over the replicas of catalogd. Follows
no redirect. Raises CatalogRequestError, whose message is for users and contains no address, because addresses change.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self
from urllib.parse import quote

import aiohttp

from olmkit.api.catalogs import Catalog, not_served_message, served_digest
from olmkit.api.meta import Object
from olmkit.api.names import is_digest
from olmkit.jobs.staging import run_in_thread
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from olmkit.tls.client_tls import ClientTls
from operator_controller.catalog_cache.content_store import (
    GZIP,
    IDENTITY,
    MAX_CONTENT_BYTES,
    ContentNotStored,
    ContentStore,
    ContentTooLarge,
    InvalidContent,
    storage_errors,
    too_large_message,
)
from operator_controller.catalog_cache.stored_documents import CatalogContent
from operator_controller.resolve.snapshot.package_snapshot import CatalogState

HINT_BY_STATUS = {
    401: ": it requires a token; start operator-controller with --catalogs-token",
    403: ": this account may not read catalogs; bind the ClusterRole olm-suite-catalog-reader to it",
}
"""The hint after the HTTP status in a message, if a person can fix the cause."""
CONTENT_RETRY_DELAY_SECONDS = 10.0
"""The time for which content that was received and cannot be used or stored is not requested again: it is as large as the
catalog."""
REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=10, sock_connect=3)
BODY_TIMEOUT_SECONDS = 60.0
"""The time that the body of a response may take, from its header on."""
READ_BYTES = 256 * 1024
"""The most bytes of a body that are read at once."""
TIMEOUT_BACKOFF_SECONDS = 10.0
"""The time for which no request is sent to a server after a timeout. Otherwise hundreds of Operators would each wait for one."""
MAX_REPLICA_ATTEMPTS = 6
"""Requests per call while replicas answer 503 or 429, each over a new connection, which the Service may route to another one."""
REPLICA_RETRY_DELAY_SECONDS = 0.05
MAX_RETRY_AFTER_SECONDS = 60
"""A longer Retry-After is shortened to this."""
ACCEPTED_ENCODING = "gzip"
"""Unlike zstd, its form contains a checksum and ends visibly."""
UNTRUSTED_CERTIFICATE = (
    "catalogd's certificate is not trusted: set --catalogs-ca-file to its CA, "
    "or check that the ConfigMap catalogd-ca contains it"
)
_ALL_SUFFIX = "/all.json"
_RESPONSE_FILE, _EVERYTHING = "response", "all=true"


@dataclass(frozen=True)
class CatalogContentResult:
    """The content of a catalog as far as it is known, and whether a change of it may come without an event.

    `content` is None unless `state` is SERVING or CACHED; `message` explains states other than SERVING.
    """

    state: CatalogState
    content: CatalogContent | None = None
    message: str = ""
    needs_recheck: bool = False
    """The catalog cannot be read, or its content is not that of the Catalog's status."""


@dataclass(frozen=True)
class _Refusal:
    """The reason why the content that a Catalog's status names is not requested now."""

    digest: str
    message: str
    is_too_large: bool
    until: float = 0.0
    """A time of the session's clock, unless it is too large."""


class CatalogClient:
    """Reads content from catalogs. Created by connect(); close() it. Without a directory nothing survives a restart.

    Raises OlmError and OSError when content can be stored nowhere.
    """

    def __init__(self, session: CatalogSession, directory: Path | None) -> None:
        self._session = session
        self._contents = ContentStore(directory)
        self._requests: dict[tuple[str, str, str], asyncio.Task[CatalogContentResult]] = {}
        self._refusals: dict[tuple[str, str], _Refusal] = {}

    @classmethod
    async def connect(
        cls, directory: Path | None, trust: ClientTls | None = None, client: Client | None = None
    ) -> Self:
        """Opens no connection yet. `trust` and `client` are those of CatalogSession."""
        return cls(CatalogSession(aiohttp.ClientSession(timeout=REQUEST_TIMEOUT), trust, client), directory)

    @property
    def directory(self) -> Path:
        """The directory of the stored content, for processes that read it: see stored_documents.py."""
        return self._contents.directory

    def another_session(self) -> CatalogSession:
        """A session with the same trust and the same token, and with connections and backoffs of its own; close() it."""
        session = aiohttp.ClientSession(timeout=REQUEST_TIMEOUT)
        return CatalogSession(session, self._session.trust, self._session.client)

    async def close(self) -> None:
        """Cancel all requests and close all connections."""
        requests = [*self._requests.values()]
        for request in requests:
            request.cancel()
        if requests:
            await asyncio.wait(requests)
        await self._session.close()
        await self._contents.close()

    async def content(self, raw: Mapping[str, Any]) -> CatalogContentResult:
        """The content of the Catalog, given as the API server's JSON. Never raises for a catalog.

        It is requested unless it is stored. Calls for the same content share one request.
        """
        catalog = Catalog.load(raw)
        digest = served_digest(catalog)
        if not digest:
            state = CatalogState.UNAVAILABLE if catalog.is_unavailable else CatalogState.PENDING
            return CatalogContentResult(state, message="" if catalog.is_unavailable else not_served_message(catalog))
        last = await self._contents.last(catalog.metadata.name, catalog.metadata.uid)
        if last is not None and last.digest == digest:
            return CatalogContentResult(CatalogState.SERVING, last)
        refusal = self._refusals.get((catalog.metadata.name, catalog.metadata.uid))
        if refusal is not None and refusal.digest == digest:
            if refusal.is_too_large:
                return CatalogContentResult(CatalogState.TOO_LARGE, message=refusal.message)
            if refusal.until > self._session.clock():
                return _without_new_content(last, refusal.message)
        key = catalog.metadata.name, catalog.metadata.uid, digest
        request = self._requests.get(key)
        if request is None:
            request = self._requests[key] = asyncio.create_task(self._request(catalog, digest, last))
            request.add_done_callback(lambda _: self._requests.pop(key, None))
        return await asyncio.shield(request)

    async def report_damage(self, digest: str) -> None:
        """Verify content that a reader of `directory` could not read; if it is damaged, content() requests it again."""
        await self._contents.report_damage(digest)

    async def retain_only(self, catalogs: Mapping[str, str]) -> None:
        """Remove the content of all Catalogs but these, uid by name."""
        self._refusals = {key: refusal for key, refusal in self._refusals.items() if catalogs.get(key[0]) == key[1]}
        await self._contents.retain_only(catalogs)

    # --- one request

    async def _request(self, catalog: Catalog, digest: str, last: CatalogContent | None) -> CatalogContentResult:
        """The content after a request; the last content if it fails."""
        key = catalog.metadata.name, catalog.metadata.uid
        self._refusals.pop(key, None)
        try:
            content = await self._fetch(catalog, digest, last)
        except ContentTooLarge as error:
            self._refusals[key] = _Refusal(digest, str(error), is_too_large=True)
            return CatalogContentResult(CatalogState.TOO_LARGE, message=str(error))
        except (InvalidContent, ContentNotStored) as error:
            message = str(error)
            if isinstance(error, InvalidContent):
                message = f"catalogd's answer cannot be read: {message}"
            until = self._session.clock() + CONTENT_RETRY_DELAY_SECONDS
            self._refusals[key] = _Refusal(digest, message, is_too_large=False, until=until)
            return _without_new_content(last, message)
        except CatalogRequestError as error:
            return _without_new_content(last, str(error))
        await self._contents.record(*key, content.digest)
        return CatalogContentResult(CatalogState.SERVING, content, needs_recheck=content.digest != digest)

    async def _fetch(self, catalog: Catalog, digest: str, last: CatalogContent | None) -> CatalogContent:
        """Request the content that the status names, else what is served. Raises what _request handles."""
        stored = await self._contents.get(digest)
        known = {content.digest for content in (stored, last) if content is not None}
        async with self._contents.staging() as directory:
            with Download(directory / _RESPONSE_FILE, known) as download:
                response = await self._response(catalog, digest, download, _EVERYTHING)
                if (
                    response.status == 400
                ):  # an earlier version of catalogd, without this parameter and without spec.packages
                    response = await self._response(catalog, digest, download)
                if response.status != 200:
                    hint = HINT_BY_STATUS.get(response.status, "")
                    raise CatalogRequestError(f"catalogd answered {response.status}{hint}")
                if response.digest not in known:
                    await download.finish()
                    return await self._contents.publish(
                        directory, download.path, response.encoding, response.digest, last
                    )
        content = await self._contents.get(response.digest)
        if content is None:
            raise CatalogRequestError("its content on the disk was damaged")
        return content

    async def _response(self, catalog: Catalog, digest: str, download: Download, *parameters: str) -> CatalogResponse:
        """The answer for the content of that digest, else for what is served."""
        base = catalog_base_url(catalog.status.content_url or "")
        server, url = base.split("/catalogs/", 1)[0], f"{base}/api/v1/resolution"
        exact = (*parameters, f"digest={quote(digest, safe='')}")
        response = await self._session.get(server, f"{url}?{'&'.join(exact)}", download, digest)
        if response.status != 404:
            return response
        # it was replaced, and the status that says so has not arrived
        return await self._session.get(server, "?".join([url, *parameters]), download, digest)


def catalog_base_url(content_url: str) -> str:
    """The common prefix of a catalog's URLs: its contentURL without /all.json."""
    return content_url.removesuffix(_ALL_SUFFIX).rstrip("/")


def _without_new_content(last: CatalogContent | None, message: str) -> CatalogContentResult:
    state = CatalogState.CACHED if last is not None else CatalogState.UNREACHABLE
    return CatalogContentResult(state, last, message, needs_recheck=True)


class Download:
    """A BodyReceiver that writes to `path`. Content whose digest is among `known` is not read. Use it in a `with` block."""

    def __init__(self, path: Path, known: Collection[str]) -> None:
        self.path = path
        self.content_digest = ""
        """The digest that the last response named."""
        self._known = known
        self._file: IO[bytes] | None = None
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def accepts(self, response: CatalogResponse) -> bool:
        """Report whether the body is to be read: a response of content that is not known. Raises InvalidContent."""
        self.content_digest = response.digest
        if response.status != 200:
            return False
        if not is_digest(response.digest):
            raise InvalidContent("it does not name the digest of its content")
        if response.digest in self._known:
            return False
        if response.is_limited:
            raise InvalidContent(
                "it has only the packages that spec.packages names; catalogd has replicas of different versions"
            )
        if response.encoding not in (IDENTITY, GZIP):
            raise InvalidContent("its encoding was not requested")
        if not response.is_delimited:
            raise InvalidContent("it does not name its length")
        return True

    async def write(self, chunk: bytes) -> None:
        """Append to the file. Raises ContentTooLarge and ContentNotStored."""
        self._size += len(chunk)
        if self._size > MAX_CONTENT_BYTES:
            raise ContentTooLarge(too_large_message())
        with storage_errors():
            await run_in_thread(lambda: self._append(chunk))

    async def finish(self) -> None:
        """Close the file; it exists also if the body was empty. Raises ContentNotStored."""
        with storage_errors():
            await run_in_thread(lambda: self._append(b""))
            assert self._file is not None
            await run_in_thread(self._file.close)

    def _append(self, chunk: bytes) -> None:
        if self._file is None:
            self._file = open(self.path, "wb", buffering=0)  # noqa: SIM115 closed at the end of the with block
        left = memoryview(chunk)
        while left:
            left = left[self._file.write(left) :]


async def clean_cache(catalogs: Informer, catalog_client: CatalogClient) -> None:
    """Clean up at the start, and whenever a Catalog is deleted or replaced by another one. Runs until cancelled."""
    deleted = asyncio.Event()

    def on_change(change: Change) -> None:
        if change.new is None or (change.old is not None and _uid(change.old) != _uid(change.new)):
            deleted.set()

    catalogs.subscribe(on_change)
    try:
        while True:
            await catalogs.fresh.wait()
            await catalog_client.retain_only({raw["metadata"]["name"]: _uid(raw) for raw in catalogs.objects.values()})
            await deleted.wait()
            deleted.clear()
    finally:
        catalogs.unsubscribe(on_change)


def _uid(raw: Object) -> str:
    uid: str = raw["metadata"]["uid"]
    return uid


# --- requests


class CatalogRequestError(Exception):
    """A request failed; the message is for users."""


@dataclass(frozen=True)
class CatalogResponse:
    """The header of a response of any status but 429 and 503.

    `digest` is that of the catalog's content, "" if the response has none. `encoding` is its Content-Encoding, "identity" by
    default. Only of a delimited body it is noticed when its end is missing. `is_limited`: it has only the packages that
    spec.packages of the Catalog names.
    """

    status: int
    digest: str
    encoding: str
    is_delimited: bool
    is_limited: bool = False


class BodyReceiver(Protocol):
    """Receives the body of one response."""

    def accepts(self, response: CatalogResponse) -> bool:
        """Report whether the body is to be read."""
        ...

    async def write(self, chunk: bytes) -> None:
        """The next bytes, as encoded. An exception ends the request."""
        ...


@dataclass(frozen=True)
class RetryableResponse:
    """One replica cannot answer now, and another one may: 503, it does not have the catalog's content; 429, it is overloaded."""

    status: int
    retry_after: int
    """Seconds; 0 if the response does not name a time."""


@dataclass
class CatalogSession:
    """Sends requests over `session`; close() it. Without `trust` the system's CAs count; `client` has the token for HTTPS."""

    session: aiohttp.ClientSession
    trust: ClientTls | None = None
    client: Client | None = None
    clock: Callable[[], float] = time.monotonic
    _unpooled_session: aiohttp.ClientSession | None = None
    _backoffs: dict[str, tuple[float, str]] = field(default_factory=dict)
    """The end of each backoff, by server or by catalog and content, and the error that is raised until then."""

    async def close(self) -> None:
        """Close all connections."""
        await self.session.close()
        if self._unpooled_session is not None:
            await self._unpooled_session.close()

    async def get(self, server: str, url: str, receiver: BodyReceiver, content: str = "") -> CatalogResponse:
        """Request `url`, which is on `server`; returns when `receiver` has the whole body. Raises CatalogRequestError.

        `content` is the digest of the expected content: a backoff of the catalog does not delay a request for new content.
        """
        catalog = f"{url.partition('?')[0]} {content}"
        for backoff in (self._backoffs.get(server), self._backoffs.get(catalog)):
            if backoff is not None and backoff[0] > self.clock():
                raise CatalogRequestError(backoff[1])
        try:
            async with asyncio.timeout(self.session.timeout.total) as deadline:
                response = await self._get(_Request(url, receiver, deadline))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"catalogd does not answer ({_error_summary(error)})"
            if isinstance(error, TimeoutError):
                self._back_off(server, TIMEOUT_BACKOFF_SECONDS, message)
            raise CatalogRequestError(message) from error
        if isinstance(response, CatalogResponse):
            return response
        message = f"catalogd answered {response.status}"
        # 503 concerns one catalog: the others are served.
        self._back_off(catalog if response.status == 503 else server, response.retry_after, message)
        raise CatalogRequestError(message)

    async def _get(self, request: _Request) -> CatalogResponse | RetryableResponse:
        """The first final response of at most MAX_REPLICA_ATTEMPTS; else a summary that does not depend on their order."""
        retryable: list[RetryableResponse] = []
        session = self.session
        while len(retryable) < MAX_REPLICA_ATTEMPTS:
            if retryable:
                await asyncio.sleep(REPLICA_RETRY_DELAY_SECONDS)
                session = self._unpooled()
            response = await self._trusted_get(session, request)
            if isinstance(response, CatalogResponse):
                return response
            retryable.append(response)
        return RetryableResponse(max(one.status for one in retryable), min(one.retry_after for one in retryable))

    def _back_off(self, what: str, seconds: float, message: str) -> None:
        now = self.clock()
        self._backoffs = {key: entry for key, entry in self._backoffs.items() if entry[0] > now}
        self._backoffs[what] = (now + seconds, message)

    async def _trusted_get(
        self, session: aiohttp.ClientSession, request: _Request
    ) -> CatalogResponse | RetryableResponse:
        """One request, and a second one if the certificate is not trusted and the CAs have changed since they were read."""
        context = await self._context()
        try:
            return await self._get_once(session, request, context)
        except aiohttp.ClientConnectorCertificateError as error:
            reloaded = await self._context(after_failure=True)
            if reloaded is context:
                raise CatalogRequestError(UNTRUSTED_CERTIFICATE) from error
        try:
            return await self._get_once(session, request, reloaded)
        except aiohttp.ClientConnectorCertificateError as error:
            raise CatalogRequestError(UNTRUSTED_CERTIFICATE) from error

    async def _get_once(
        self, session: aiohttp.ClientSession, request: _Request, context: ssl.SSLContext | None
    ) -> CatalogResponse | RetryableResponse:
        options: dict[str, Any] = {} if context is None else {"ssl": context}
        # The time of the whole request is limited by the deadline, which the body may extend.
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=session.timeout.sock_connect)
        async with session.get(
            request.url,
            allow_redirects=False,
            auto_decompress=False,
            headers=await self._headers(request.url),
            timeout=timeout,
            **options,
        ) as answer:
            if answer.status in (429, 503):
                return RetryableResponse(answer.status, _parse_retry_after(answer.headers.get("Retry-After", "")))
            response = _read_header(answer)
            if request.receiver.accepts(response):
                request.deadline.reschedule(asyncio.get_running_loop().time() + BODY_TIMEOUT_SECONDS)
                async for chunk in answer.content.iter_chunked(READ_BYTES):
                    await request.receiver.write(chunk)
            return response

    async def _context(self, *, after_failure: bool = False) -> ssl.SSLContext | None:
        return await self.trust.context(after_failure=after_failure) if self.trust is not None else None

    async def _headers(self, url: str) -> dict[str, str]:
        headers = {"Accept-Encoding": ACCEPTED_ENCODING}
        if self.client is not None and url.startswith("https://") and (token := await self.client.bearer_token()):
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _unpooled(self) -> aiohttp.ClientSession:
        """A session that opens a connection for each request."""
        if self._unpooled_session is None:
            connector = aiohttp.TCPConnector(force_close=True)
            self._unpooled_session = aiohttp.ClientSession(connector=connector, timeout=self.session.timeout)
        return self._unpooled_session


@dataclass(frozen=True)
class _Request:
    """One call of CatalogSession.get()."""

    url: str
    receiver: BodyReceiver
    deadline: asyncio.Timeout


def _read_header(answer: aiohttp.ClientResponse) -> CatalogResponse:
    headers = answer.headers
    is_chunked = headers.get("Transfer-Encoding", "").lower() == "chunked"
    return CatalogResponse(
        answer.status,
        headers.get("Olm-Catalog-Digest", ""),
        headers.get("Content-Encoding", "identity").lower(),
        is_chunked or answer.content_length is not None,
        "Olm-Catalog-Packages" in headers,
    )


def _parse_retry_after(retry_after: str) -> int:
    """Seconds of a Retry-After header. A date, which catalogd never sends, counts as 0."""
    is_number = retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10
    return min(int(retry_after), MAX_RETRY_AFTER_SECONDS) if is_number else 0


def _error_summary(error: Exception) -> str:
    """The kind of error, without addresses."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientSSLError):
        return "no TLS connection"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "no connection"
    return type(error).__name__
