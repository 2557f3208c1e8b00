"""Sends the archive of a Bundle to rukpak: through the proxy of the API server, or over a forwarded port with the caller's token.

The proxy hands on no token, so it serves for a Bundle that names the digest of its archive. A request is repeated a few times if
rukpak cannot take it at the moment.
"""

from __future__ import annotations

import asyncio
from urllib.parse import quote, urlencode

from olmctl.bundle.archive import Archive
from olmctl.commands import FAILED, NOT_FOUND, REFUSED, CommandError
from olmctl.questions import port_forward
from olmctl.questions.port_forward import RUKPAK
from olmctl.questions.session import Session
from olmkit.api.meta import Kind
from olmkit.errors import ApiError, Conflict, Forbidden, NotFound, Unavailable
from olmkit.runtime.access_reviews import is_allowed

PORT_NAME = "https"
"""The name of the port of rukpak's Service."""
SEND_SECONDS = 330.0
"""The time for one upload; rukpak takes at most 300 s."""
MAX_ATTEMPTS = 4
RETRY_SECONDS = 2.0
MEDIA_TYPE = "application/gzip"
SERVICES = Kind("", "v1", "Service", "services", namespaced=True)
_PROXY_NAME = f"https:{RUKPAK.service.name}:{PORT_NAME}"


async def send(session: Session, name: str, archive: Archive, *, has_digest: bool) -> bool:
    """Send the archive of the Bundle of this name; `has_digest`: its spec names the digest. Returns False if rukpak had it.

    Raises CommandError.
    """
    try:
        for _ in range(MAX_ATTEMPTS - 1):
            try:
                return bool(await _send(session, name, archive, has_digest=has_digest))
            except Unavailable as error:
                if error.retry_after is None:
                    raise
            await asyncio.sleep(RETRY_SECONDS)
        return bool(await _send(session, name, archive, has_digest=has_digest))
    except NotFound as error:
        raise CommandError(NOT_FOUND, f"rukpak does not take the archive of {name}: {error.message}") from error
    except Conflict as error:
        raise CommandError(REFUSED, f"rukpak does not take the archive of {name}: {error.message}") from error
    except Forbidden as error:
        raise CommandError(REFUSED, error.message) from error
    except ApiError as error:
        raise CommandError(FAILED, f"the archive of {name} was not uploaded: {error.message}") from error


async def check_access(session: Session) -> None:
    """Raises CommandError if an archive by its digest cannot be sent: rukpak has no Service, or this user may use neither its
    proxy nor a forwarded port."""
    namespace = await session.system_namespace()
    try:
        await session.client.get(SERVICES, RUKPAK.service.name, namespace)
    except NotFound:
        text = f"namespace {namespace} has no Service {RUKPAK.service.name}, to which bundles are uploaded"
        raise CommandError(FAILED, f"{text}: the suite has to run as pods, with its webhooks") from None
    except Forbidden:
        pass  # the proxy may be permitted nevertheless
    proxy = {"verb": "update", "resource": "services", "subresource": "proxy", "name": _PROXY_NAME}
    forward = {"verb": "create", "resource": "pods", "subresource": "portforward"}
    if not await _is_allowed(session, proxy) and not await _is_allowed(session, forward):
        raise CommandError(REFUSED, _needed(namespace))


async def _is_allowed(session: Session, access: dict[str, str]) -> bool:
    attributes = {**access, "namespace": await session.system_namespace()}
    return await is_allowed(session.client, {"resourceAttributes": attributes})


def _needed(namespace: str) -> str:
    """The permissions for an upload by its digest."""
    return (
        f'an upload needs the permission to update services/proxy named "{_PROXY_NAME}" in namespace {namespace}, or to '
        f"forward a port of {RUKPAK.component}: list on pods, get and create on pods/portforward"
    )


async def _send(session: Session, name: str, archive: Archive, *, has_digest: bool) -> object:
    """The answer, which is empty if rukpak had the archive. Raises ApiError."""
    target, query, data = f"/uploads/{quote(name, safe='')}.tgz", {"digest": archive.digest}, archive.data
    forwarded = f"{target}?{urlencode(query)}"
    if not has_digest:
        return await port_forward.request(session, RUKPAK, "PUT", forwarded, data, seconds=SEND_SECONDS)
    namespace = await session.system_namespace()
    path = f"/api/v1/namespaces/{namespace}/services/{_PROXY_NAME}/proxy{target}"
    try:
        return await session.client.request(
            "PUT", path, query=query, body=data, content_type=MEDIA_TYPE, seconds=SEND_SECONDS
        )
    except Forbidden:
        try:
            return await port_forward.request(
                session, RUKPAK, "PUT", forwarded, data, needs_token=False, seconds=SEND_SECONDS
            )
        except Forbidden as error:
            raise Forbidden(error.status, error.reason, _needed(namespace)) from error
