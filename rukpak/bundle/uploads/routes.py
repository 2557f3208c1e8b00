"""Receives the archives of Bundles whose source is `upload`: `PUT /uploads/NAME.tgz`, at the address of rukpak's webhooks.

Every replica takes them. The digest in the spec of a Bundle says which archive it may have, so that no identity is needed: the
proxy of the API server hands on none. Such a request names the digest, `?digest=sha256:…`. It is answered alike whatever is
wrong, before its body is read: it learns nothing of which Bundles there are, and takes no place. Without a digest in the spec,
the user of the token that is sent has to be allowed to update the Bundle.
"""

from __future__ import annotations

import asyncio
import errno
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from olmkit.api import bundles
from olmkit.api.content import SourceType
from olmkit.api.meta import Object
from olmkit.errors import ApiError, NotFound
from olmkit.gocompat.text import quoted
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.listener.http_errors import BODY_LIMITS, RETRY_AFTER_HEADER, HTTPError
from olmkit.sources.content_limits import MAX_STORED_UPLOAD_BYTES, MAX_UPLOAD_BYTES
from olmkit.tls.delegated_auth import ResourceAccess
from rukpak.bundle.uploads.receive import expect_nothing_yet, receive
from rukpak.bundle.uploads.stored_upload import Upload, digest_of, owner_of, parts, size_of
from rukpak.bundle.uploads.writer import Outcome, UploadWriter

PATH = "/uploads/{name}.tgz"
MAX_CONCURRENT_UPLOADS = 4
"""Archives that are received and stored at the same time."""
MAX_CONCURRENT_READS = 4
"""Requests for Bundles that the informer does not have."""
READS_PER_SECOND = 20.0
"""Such requests for senders without a token, and as many at once: anyone who reaches the port can ask for any name."""
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)

AccessCheck = Callable[[str, ResourceAccess, str], Awaitable[None]]
_NO_BUNDLE = (
    "no Bundle of this name waits for this archive: its spec.source.upload.digest has to be that of ?digest=sha256:..., or a "
    "token has to be sent whose user may update the Bundle"
)
_CLOSE = {"Connection": "close"}


@dataclass
class ReadLimit:
    """The number of requests that are left for senders without a token."""

    _left: float = READS_PER_SECOND
    _at: float = 0.0

    def permits(self, now: float) -> bool:
        """Report whether there is another request. `now` is a monotonic time in seconds."""
        self._left = min(self._left + (now - self._at) * READS_PER_SECOND, READS_PER_SECOND)
        self._at = now
        is_permitted = self._left >= 1
        self._left -= is_permitted
        return is_permitted


@dataclass(frozen=True)
class UploadRoutes:
    """The route. `check` raises web.HTTPException if a token does not give an access: DelegatedAuth.check_access.

    `config_maps` has the metadata of those in the suite's namespace.
    """

    client: Client
    bundles: Informer
    config_maps: Informer
    writer: UploadWriter
    check: AccessCheck
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_UPLOADS))
    _reads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_READS))
    _limit: ReadLimit = field(default_factory=ReadLimit)
    _storing: list[Upload] = field(default_factory=list)
    """The uploads that are being stored: they count as a whole."""

    def add_routes(self, application: web.Application) -> None:
        """Add the route."""
        application.router.add_put(PATH, self._put, expect_handler=expect_nothing_yet)
        application.setdefault(BODY_LIMITS, {})[PATH] = MAX_UPLOAD_BYTES

    async def _put(self, request: web.Request) -> web.Response:
        name, authorization = request.match_info["name"], request.headers.get("Authorization", "")
        if authorization:
            access = ResourceAccess("update", bundles.KIND.group, bundles.KIND.plural, name)
            await self.check(authorization, access, request.remote or "")
        named = request.query.get("digest", "")
        is_authorized = bool(authorization)
        bundle = await self._bundle(name, named, is_authorized=is_authorized)
        check_bundle(bundle, name, named, is_authorized=is_authorized)
        assert bundle is not None
        if self._places.locked():
            raise HTTPError(503, "too many uploads at the same time", {**RETRY_AFTER_HEADER, **_CLOSE})
        async with self._places:
            try:
                outcome, upload = await self._store(request, bundle, named)
            except OSError as error:
                if error.errno not in FULL_DISK:
                    raise
                text = "there is no space left for the archive in the directory for temporary files of rukpak: send it again"
                raise HTTPError(507, text, {**RETRY_AFTER_HEADER, **_CLOSE}) from error
        return _answer(outcome, upload, is_authorized=is_authorized)

    async def _store(self, request: web.Request, bundle: Object, named: str) -> tuple[Outcome, Upload]:
        """Receive the archive and store it. Raises HTTPError, and OSError if there is no space for it."""
        with tempfile.TemporaryFile() as archive:
            received = await receive(request, archive, MAX_UPLOAD_BYTES)
            check_archive(bundle, received.digest, named)
            metadata = bundle["metadata"]
            upload = Upload(metadata["name"], metadata["uid"], received.digest, received.size)
            self._check_space(upload)
            self._storing.append(upload)
            try:
                return await self.writer.store(upload, archive), upload
            except ApiError as error:
                text = f"the upload could not be stored, send it again: {error.message}"
                raise HTTPError(503, text, RETRY_AFTER_HEADER) from error
            finally:
                self._storing.remove(upload)

    async def _bundle(self, name: str, digest: str, *, is_authorized: bool) -> Object | None:
        """The Bundle as read, also one that was created a moment ago. Raises HTTPError.

        Without a token everything but a Bundle that waits for this archive takes the same request and the same time, and no more
        of them than the limit.
        """
        found = self.bundles.get(name)
        if found is not None and (is_authorized or is_awaited(found, digest)):
            return found
        if not is_authorized and not self._limit.permits(asyncio.get_running_loop().time()):
            raise HTTPError(
                503, "too many requests for archives that are not awaited", {**RETRY_AFTER_HEADER, **_CLOSE}
            )
        try:
            async with self._reads:
                return await self.client.get(bundles.KIND, name)
        except NotFound:
            return None
        except ApiError as error:
            raise HTTPError(503, "the API server does not answer", {**RETRY_AFTER_HEADER, **_CLOSE}) from error

    def _check_space(self, upload: Upload) -> None:
        """Raises HTTPError if all uploads together would be larger than the API server is to store."""
        storing = {(each.bundle_uid, each.digest): each.size for each in (*self._storing, upload)}
        stored = (
            (owner_of(each)[1], digest_of(each), size_of(each)) for each in parts(self.config_maps.objects.values())
        )
        others = sum(size for uid, digest, size in stored if (uid, digest) not in storing)
        others += sum(storing.values()) - upload.size
        if others + upload.size > MAX_STORED_UPLOAD_BYTES:
            text = (
                f"the uploads of all Bundles have {others:,} bytes, and at most {MAX_STORED_UPLOAD_BYTES:,} are stored: delete "
                "Bundles that are not needed, or use another source"
            )
            raise HTTPError(507, text)


def check_bundle(bundle: Object | None, name: str, digest: str, *, is_authorized: bool) -> None:
    """Raises HTTPError if the archive of this digest, "" if it is not named, cannot be uploaded for the Bundle as read: in the
    words of rukpak upstream for a user who may update it, and else always in the same words."""
    if not is_authorized and not (bundle is not None and is_awaited(bundle, digest)):
        raise HTTPError(404, _NO_BUNDLE, _CLOSE)
    if bundle is None or "deletionTimestamp" in bundle["metadata"]:
        raise HTTPError(404, f"there is no Bundle {name}", _CLOSE)
    source: Any = bundle["spec"]["source"]
    if source.get("type") != SourceType.UPLOAD:
        text = f"bundle source type is {quoted(str(source.get('type', '')))}; expected {quoted(SourceType.UPLOAD)}"
        raise HTTPError(409, text, _CLOSE)


def is_awaited(bundle: Object, digest: str) -> bool:
    """Report whether the spec of the Bundle as read names this archive."""
    source = bundle["spec"]["source"]
    is_upload = source.get("type") == SourceType.UPLOAD and "deletionTimestamp" not in bundle["metadata"]
    return is_upload and bool(digest) and digest == _wanted(source)


def check_archive(bundle: Object, digest: str, named: str) -> None:
    """Raises HTTPError if the archive of this digest is not the one that the Bundle, as read, is to have, or has; or not the one
    that the request has `named`."""
    if named and digest != named:
        raise HTTPError(400, f"the archive is {digest}, and the request names {quoted(named[:80])}")
    wanted = _wanted(bundle["spec"]["source"])
    if wanted and digest != wanted:
        raise HTTPError(409, f"the archive is {digest}, and bundle.spec.source.upload.digest is {wanted}")
    resolved = (((bundle.get("status") or {}).get("resolvedSource") or {}).get("upload") or {}).get("digest")
    if resolved and digest != resolved:
        raise HTTPError(409, "bundle has already been unpacked, cannot change content of existing bundle")


def _wanted(source: Any) -> str:
    return str((source.get("upload") or {}).get("digest") or "")


def _answer(outcome: Outcome, upload: Upload, *, is_authorized: bool) -> web.Response:
    """Raises HTTPError."""
    match outcome:
        case Outcome.STORED:
            return web.json_response({"digest": upload.digest}, status=201)
        case Outcome.UNCHANGED:
            return web.Response(status=204)
        case Outcome.BUNDLE_GONE:
            raise HTTPError(404, f"there is no Bundle {upload.bundle}" if is_authorized else _NO_BUNDLE)
        case Outcome.OTHER_CONTENT:
            text = "another archive was uploaded for this bundle: delete it, or create another bundle with the digest in its spec"
            raise HTTPError(409, text)
