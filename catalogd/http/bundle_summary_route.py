"""Answers requests for the summary of a bundle (catalogd.bundle_summaries), of clients and of other replicas.

    200    the summary; Olm-Summary-State: reading if it is what the catalog states, and the image is being read
    202    it is being made; Retry-After
    404    there is none; the reason
    429    too many are being made; Retry-After

The blob of the bundle is read from the content that is served: nothing else names an image.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson
from aiohttp import web

from catalogd.bundle_summaries.leader_summaries import IMAGE_DIGEST_HEADER, LeaderSummaries, LeaderUnavailable
from catalogd.bundle_summaries.summaries import Absent, Answer, AskedBundle, BundleSummaries, Busy, Pending, Ready
from catalogd.bundle_summaries.summary_task import StatedObjects, checked
from catalogd.http.conditional_requests import Representation
from catalogd.http.limited_responses import check_selected, digest_header
from catalogd.http.responses import IDENTITY, ResponseBody, respond, select_encoding
from catalogd.http.routes import NO_BUNDLE
from catalogd.ingest.content import Content
from catalogd.storage.catalog_store import ServedCatalog
from olmkit.errors import OlmError
from olmkit.fbc.bundle_summary import FORMAT
from olmkit.fbc.schemas import BUNDLE, BUNDLE_OBJECT
from olmkit.runtime.listener.http_errors import RETRY_AFTER_HEADER, HTTPError
from olmkit.sources.errors import quoted

ZSTD = "zstd"
PENDING_HEADERS = {"Retry-After": "1"}
BUSY_HEADERS = {"Retry-After": "10"}
BUSY_MESSAGE = "too many summaries of bundles are being made"
PENDING_MESSAGE = "the image of the bundle is being read"
TURNED_OFF = "catalogd makes no summaries of bundles: it was started with --bundle-summaries=Never"
MAX_BLOB_BYTES = 64 * 1024**2
MAX_REMEMBERED = 1024
_STARTED = datetime.now(UTC).replace(microsecond=0)


class SummaryRoute:
    """The summaries of the bundles of served catalogs. `summaries`: None if they are turned off; `leader`: None on the replica
    that leads, and without replicas."""

    def __init__(self, summaries: BundleSummaries | None, leader: LeaderSummaries | None = None) -> None:
        self._summaries = summaries
        self._leader = leader
        self._images: dict[tuple[str, int], tuple[str, str, bool]] = {}
        """(digest of the content, number of the blob) -> its package, its image, and whether it has its manifests."""

    async def respond(
        self, request: web.Request, served: ServedCatalog, package: str, *, is_leading: bool
    ) -> web.StreamResponse:
        """The response to a client. Raises HTTPError."""
        asked = await self._asked(request.match_info["catalog"], request.match_info["bundle"], served, package)
        answer = await self.answer(asked, served, is_leading=is_leading)
        if isinstance(answer, Ready):
            return await self._send(request, served, answer)
        return _without_summary(answer, digest_header(served))

    async def respond_to_replica(self, request: web.Request, served: ServedCatalog) -> web.StreamResponse:
        """The response to another replica: the compressed summary. Raises HTTPError."""
        name, package = request.match_info["bundle"], request.query.get("package", "")
        asked = await self._asked(request.match_info["catalog"], name, served, package)
        answer = await self.answer(asked, served, is_leading=True)
        if isinstance(answer, Ready):
            headers = {IMAGE_DIGEST_HEADER: answer.digest}
            return web.Response(body=answer.data, content_type="application/octet-stream", headers=headers)
        return _without_summary(answer, {})

    async def answer(self, asked: AskedBundle, served: ServedCatalog, *, is_leading: bool) -> Answer:
        """From the store, by a job, or of the leader. Raises HTTPError."""
        summaries = self._summaries
        if summaries is None:
            raise HTTPError(404, TURNED_OFF, digest_header(served))
        if is_leading:
            return await summaries.answer(asked)
        if (kept := await summaries.kept(asked)) is not None:
            return kept
        try:
            if self._leader is None:
                raise LeaderUnavailable
            answer = await self._leader.ask(asked, served.record.digest)
        except LeaderUnavailable:
            text = "the replica that makes summaries cannot be asked now"
            raise HTTPError(503, text, {**RETRY_AFTER_HEADER, **digest_header(served)}) from None
        if isinstance(answer, Ready) and answer.digest:
            with suppress(OlmError, OSError, ValueError):  # it is sent nevertheless
                await summaries.store.add(summaries.proof(asked), answer.digest, answer.data)
        return answer

    async def _asked(self, catalog: str, name: str, served: ServedCatalog, package: str) -> AskedBundle:
        """The bundle of that name. Raises HTTPError."""
        content, digest = served.content, served.record.digest
        if self._summaries is None:
            raise HTTPError(404, TURNED_OFF, digest_header(served))
        if not name or not (numbers := content.index.find(BUNDLE, package, name)):
            raise HTTPError(404, NO_BUNDLE, digest_header(served))
        found: dict[str, tuple[int, str, bool]] = {}
        for number in numbers:
            key = digest, number
            if key not in self._images:
                self._images[key] = await asyncio.to_thread(_read_blob, content, number)
            owner, image, has_objects = self._images[key]
            found.setdefault(owner, (number, image, has_objects))
        while len(self._images) > MAX_REMEMBERED:
            del self._images[next(iter(self._images))]
        if len(found) > 1:
            names = ", ".join(map(quoted, sorted(found)[:10]))
            raise HTTPError(400, f"several packages have a bundle of this name: give one of {names} as package")
        ((owner, (number, image, has_objects)),) = found.items()
        check_selected(served, owner)
        start, length = content.index.byte_range(number)
        stated = StatedObjects(content.blobs_path, start, length) if has_objects else None
        return AskedBundle(catalog, served.record.uid, owner, name, image, stated)

    async def _send(self, request: web.Request, served: ServedCatalog, ready: Ready) -> web.StreamResponse:
        accepted = request.headers.getall("Accept-Encoding", [])
        encoding = select_encoding(",".join(accepted) if accepted else None, (ZSTD,))
        if encoding is None:
            raise HTTPError(406, f"Accept-Encoding excludes all available encodings: {ZSTD}, {IDENTITY}")
        data = ready.data if encoding == ZSTD else await asyncio.to_thread(checked, ready.data)
        state = {} if ready.digest else {"Olm-Summary-State": "reading"}
        headers = {**digest_header(served), **state, "Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff"}
        tag = f"{ready.digest or served.record.digest}.{FORMAT}{'' if ready.digest else '-stated'}{encoding and f'-{encoding}'}"
        body = ResponseBody(self, None, [(0, len(data))], "application/json", encoding, headers=headers)
        return await respond(request, Representation(len(data), tag, _STARTED), body, data)


def _without_summary(answer: Answer, headers: dict[str, str]) -> web.Response:
    match answer:
        case Pending():
            text = orjson.dumps({"pending": PENDING_MESSAGE}) + b"\n"
            return web.Response(
                body=text, status=202, content_type="application/json", headers={**headers, **PENDING_HEADERS}
            )
        case Busy():
            raise HTTPError(429, BUSY_MESSAGE, {**headers, **BUSY_HEADERS})
        case Absent(why):
            raise HTTPError(404, why, headers)
    raise AssertionError(answer)


def _read_blob(content: Content, number: int) -> tuple[str, str, bool]:
    """The package, the image, and whether the blob has manifests. Raises HTTPError, FileNotFoundError."""
    start, length = content.index.byte_range(number)
    if length > MAX_BLOB_BYTES:
        raise HTTPError(404, f"the blob of the bundle has {length:,} bytes; at most {MAX_BLOB_BYTES:,} are read")
    descriptor = os.open(content.blobs_path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.pread(descriptor, length, start)
    finally:
        os.close(descriptor)
    blob: dict[str, Any] = orjson.loads(data)
    image, package = blob.get("image"), blob.get("package")
    return (
        package if isinstance(package, str) else "",
        image if isinstance(image, str) else "",
        BUNDLE_OBJECT.encode() in data,
    )
