"""Sends the archive of a Bundle to rukpak: through the proxy of the API server, or over a forwarded port with the caller's token.

The proxy hands on no token, so it serves for a Bundle that names the digest of its archive. A request is repeated a few times if
rukpak cannot take it at the moment.
"""

from __future__ import annotations

import asyncio
from urllib.parse import quote, urlencode

from olmctl.bundle.archive import Archive
from olmctl.commands import FAILED, NOT_FOUND, REFUSED, CommandError
from olmctl.operators import port_forward
from olmctl.operators.port_forward import RUKPAK
from olmctl.operators.session import Session
from olmkit.errors import ApiError, Conflict, Forbidden, NotFound, Unavailable

PORT_NAME = "https"
"""The name of the port of rukpak's Service."""
SEND_SECONDS = 330.0
"""The time for one upload; rukpak takes at most 300 s."""
MAX_ATTEMPTS = 4
RETRY_SECONDS = 2.0
MEDIA_TYPE = "application/gzip"


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


async def _send(session: Session, name: str, archive: Archive, *, has_digest: bool) -> object:
    """The answer, which is empty if rukpak had the archive. Raises ApiError."""
    target, query, data = f"/uploads/{quote(name, safe='')}.tgz", {"digest": archive.digest}, archive.data
    forwarded = f"{target}?{urlencode(query)}"
    if not has_digest:
        return await port_forward.request(session, RUKPAK, "PUT", forwarded, data, seconds=SEND_SECONDS)
    namespace, port = session.system_namespace, f"https:{RUKPAK.service.name}:{PORT_NAME}"
    path = f"/api/v1/namespaces/{namespace}/services/{port}/proxy{target}"
    try:
        return await session.client.request(
            "PUT", path, query=query, body=data, content_type=MEDIA_TYPE, seconds=SEND_SECONDS
        )
    except Forbidden as refused:
        try:
            return await port_forward.request(
                session, RUKPAK, "PUT", forwarded, data, needs_token=False, seconds=SEND_SECONDS
            )
        except Forbidden as error:
            text = f"an upload needs the permission to update services/proxy of {port} in namespace {namespace}"
            both = f"{text}: {refused.message}; or another one: {error.message}"
            raise Forbidden(error.status, error.reason, both) from error
