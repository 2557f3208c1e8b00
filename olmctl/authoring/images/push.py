"""Pushes an image to registries: each blob that a registry lacks, then the manifest under each tag (OCI distribution API).

A blob that is there is not sent again, so a push that was interrupted continues where it ended. The registry is one that the user
names: its address is not checked, and one on this machine may speak plain HTTP. A login is sent to the registry and its token
service alone. The content is sent to the registry alone, or to a host that registries.conf names, and never over plain HTTP if
the registry speaks TLS.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus

import orjson
from yarl import URL

from olmctl.authoring.images.image import Image
from olmctl.authoring.images.layers import StoredBlob
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.sources.addresses import literal_address
from olmkit.sources.credentials import split_port
from olmkit.sources.errors import RETRY_DELAY, SourceReason, quoted, unavailable
from olmkit.sources.network import Endpoint, Timeouts
from olmkit.sources.oci.authorization import DENIED_STATUSES
from olmkit.sources.oci.image import RegistryClient
from olmkit.sources.oci.reference import Reference, parse
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.transport import HttpResponse, Transport, authority

MAX_ATTEMPTS = 3
RETRY_SECONDS = 2.0
MAX_RETRY_SECONDS = 30.0
_UPLOAD_TIMEOUTS = Timeouts(read=600)
"""The time for one blob."""
_MAX_ERROR_BYTES = 64 * 1024
_OCTETS = "application/octet-stream"

Progress = Callable[[str], None]


async def push(
    image: Image,
    references: Sequence[str],
    registries: Registries,
    progress: Progress = lambda text: None,
    attempts: int = MAX_ATTEMPTS,
) -> list[str]:
    """Push the image under these references, which have tags; returns each repository's reference by digest, in their order.

    `progress` hears what is done. What a registry cannot do at the moment is tried `attempts` times. Raises BadReference,
    Blocked, Waiting.
    """
    repositories: defaultdict[tuple[str, str], list[Reference]] = defaultdict(list)
    for text in references:
        found = parse(text)
        repositories[found.registry, found.repository].append(found)
    for group in repositories.values():
        await _push(image, group, registries, progress, attempts)
    return [group[0].by_digest(image.digest) for group in repositories.values()]


async def _push(
    image: Image, group: Sequence[Reference], registries: Registries, progress: Progress, attempts: int
) -> None:
    endpoint = endpoint_of(group[0], registries)
    patient = replace(registries, timeouts=_UPLOAD_TIMEOUTS)
    async with Transport(registries) as transport, Transport(patient) as upload_transport:
        client = RegistryClient(transport, registries, endpoint, group[0])
        uploads = RegistryClient(upload_transport, patient, endpoint, group[0])
        repository = _Repository(client, uploads, registries, group[0].written, progress)
        for number, blob in enumerate(image.blobs, start=1):
            what = f"blob {number} of {len(image.blobs)}"
            await _repeated(partial(repository.upload, blob, what), attempts, what, progress)
        for reference in group:
            what = f"tag {reference.version}"
            await _repeated(partial(repository.tag, image, reference.version), attempts, what, progress)
            progress(f"{reference}: pushed")


def endpoint_of(reference: Reference, registries: Registries) -> Endpoint:
    """The registry that has the repository, and no mirror of it. Raises BadReference if it is blocked."""
    found = registries.endpoints(reference)[-1]
    return replace(found, configured=True, insecure=found.insecure or _is_local(found.host))


def _is_local(host: str) -> bool:
    """Report whether the host is this machine, where registries without TLS are usual."""
    name, _ = split_port(host)
    address = literal_address(name)
    if isinstance(address, ipaddress.IPv4Address | ipaddress.IPv6Address):
        return address.is_loopback
    return f".{name}".endswith(".localhost")


async def _repeated(request: Callable[[], Awaitable[None]], attempts: int, what: str, progress: Progress) -> None:
    """Carry out the request, again if the registry cannot take it at the moment. `what` is pushed: errors name it."""
    for attempt in range(1, attempts + 1):
        try:
            return await request()
        except Waiting as error:
            if error.reason != SourceReason.UNAVAILABLE:
                raise
            if attempt == attempts:
                raise unavailable(f"{what} is not pushed: {error.message}", error.after) from error
            progress(f"{what} is not pushed yet: {error.message}")
            # A registry that asks to slow down says for how long.
            asked = error.after.total_seconds() if error.after > RETRY_DELAY else RETRY_SECONDS * attempt
            await asyncio.sleep(min(asked, MAX_RETRY_SECONDS))
    return None


class _Repository:
    """A repository that an image is pushed to. `uploads` has the time for whole blobs; `name` is what messages name."""

    def __init__(
        self, client: RegistryClient, uploads: RegistryClient, registries: Registries, name: str, progress: Progress
    ) -> None:
        self._client = client
        self._registries = registries
        self._uploads = uploads
        self._name = name
        self._progress = progress

    async def upload(self, blob: StoredBlob, what: str) -> None:
        """Send the blob unless the registry has it."""
        async with self._client.request(f"blobs/{blob.digest}", {}, "HEAD") as response:
            if response.status == HTTPStatus.OK and response.header("Content-Length") in ("", str(blob.size)):
                self._progress(f"{self._name}: {what} is there")
                return
            if response.status not in (HTTPStatus.OK, HTTPStatus.NOT_FOUND):
                raise await self._error(response)
        self._progress(f"{self._name}: sending {what}, {blob.size:,} bytes")
        async with self._client.request("blobs/uploads/", {}, "POST", b"") as response:
            if response.status not in (HTTPStatus.ACCEPTED, HTTPStatus.CREATED):
                raise await self._error(response)
            target = self._upload_url(response, blob.digest)
        headers = {"Content-Type": _OCTETS, "Content-Length": str(blob.size)}
        async with self._uploads.request(target, headers, "PUT", blob.open) as response:
            if response.status != HTTPStatus.CREATED:
                raise await self._error(response)

    def _upload_url(self, response: HttpResponse, digest: str) -> URL:
        """The URL to which the whole blob is sent. Raises Blocked if it is not where the content may go."""
        target, asked = _location(response), response.url
        if asked.scheme == "https" and target.scheme == "http":
            text = f"wants the content over plain HTTP, at {authority(target)}, although it speaks https"
            raise self._refused(text, "configure the registry to know that its address begins with https")
        if not _is_same_server(asked, target) and not self._registries.is_configured(authority(target)):
            text = f"wants the content to be sent to another server, {authority(target)}"
            raise self._refused(text, "name that one in the registries.conf of --registries-conf if it may have it")
        text = str(target)
        return URL(f"{text}{'&' if target.raw_query_string else '?'}digest={digest}", encoded=True)

    def _refused(self, text: str, remedy: str) -> Blocked:
        shown = f"registry {self._client.host} {text}: nothing of {quoted(self._name)} is sent there"
        return Blocked(SourceReason.ADDRESS_REFUSED, f"{shown}; {remedy}")

    async def tag(self, image: Image, tag: str) -> None:
        """Store the manifest under the tag. Raises Blocked if the answer is that it was taken, and the registry has it not."""
        kind = {"Content-Type": image.media_type}
        async with self._client.request(f"manifests/{tag}", kind, "PUT", image.manifest_bytes) as response:
            status = response.status
            if status not in (HTTPStatus.CREATED, HTTPStatus.OK, HTTPStatus.ACCEPTED):
                raise await self._error(response)
            is_stored = status == HTTPStatus.CREATED and response.header("Docker-Content-Digest") in ("", image.digest)
        if not is_stored and not await self._has(image):
            text = f"registry {self._client.host} answered {status} for tag {tag} of {quoted(self._name)}"
            raise Blocked(SourceReason.NOT_FOUND, f"{text}, and does not have the image: check that it is a registry")

    async def _has(self, image: Image) -> bool:
        """Report whether the registry answers with the manifest for its digest."""
        kind = {"Accept": image.media_type}
        async with self._client.request(f"manifests/{image.digest}", kind) as response:
            if response.status == HTTPStatus.NOT_FOUND:
                return False
            if response.status != HTTPStatus.OK:
                raise await self._error(response)
            return await response.read(len(image.manifest_bytes)) == image.manifest_bytes

    async def _error(self, response: HttpResponse) -> OlmError:
        """The error for a status, with the registry's own words."""
        status, words = response.status, await _words(response)
        text = f"registry {self._client.host} does not take {quoted(self._name)} ({status}{words})"
        if status in DENIED_STATUSES:
            return Blocked(SourceReason.UNAUTHORIZED, text)
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            busy = response.unexpected()
            return unavailable(text, busy.after)
        if status == HTTPStatus.NOT_FOUND:
            text = f"{text}: it has no such repository, or does not let you create it"
        return Blocked(SourceReason.NOT_FOUND, text)


def _location(response: HttpResponse) -> URL:
    """The URL of the upload that the registry began. Raises Waiting if there is none."""
    location = response.header("Location")
    if not location:
        raise unavailable(f"{response.server} began an upload without saying where")
    try:
        target = response.url.join(URL(location, encoded=True))
    except ValueError:
        target = URL()
    if target.scheme not in ("http", "https") or not target.host:
        raise unavailable(f"{response.server} began an upload at an address that is not http or https")
    return target


def _is_same_server(asked: URL, target: URL) -> bool:
    """Report whether both are of one host and port; plain HTTP may lead to https."""
    is_secured = (asked.scheme, target.scheme) == ("http", "https")
    return asked.host == target.host and (asked.port == target.port or is_secured)


async def _words(response: HttpResponse) -> str:
    """The messages in the answer of a registry, to follow its status; "" if there are none."""
    try:
        document = orjson.loads(await response.read(_MAX_ERROR_BYTES) or b"")
    except (orjson.JSONDecodeError, Waiting):
        return ""
    errors = document.get("errors") if isinstance(document, dict) else None
    if not isinstance(errors, list):
        return ""
    found = [each.get("message") for each in errors if isinstance(each, dict)]
    shown = "; ".join(quoted(each) for each in found if isinstance(each, str) and each)
    return f", {shown}" if shown else ""
