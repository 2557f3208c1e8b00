"""Reads catalogs from catalogd through the API server: by the proxy of its Service, with the permissions of the caller.

The API server does not pass the caller's token on to catalogd: where catalogd requires one, a port of its pod is forwarded
instead (port_forward.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from olmctl.questions import port_forward
from olmctl.questions.errors import QuestionError, Refused
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api.meta import Object
from olmkit.errors import ApiError, Forbidden, Unavailable
from olmkit.tls.service import CATALOG_SERVICE

UNAUTHORIZED = 401
PORT_NAME = "https"
"""The name of the port of catalogd's Service."""
ACCEPT = "application/json, application/jsonl"
"""An object of a catalog is one line of its documents."""
MAX_REPLICAS_ASKED = 3
"""The API server picks a replica for each request. Waiting as Retry-After says would stop a command for a catalog that cannot be
loaded."""


class CatalogReadError(Exception):
    """A catalog cannot be read; the message says why."""


async def unread_error(session: Session, problems: Sequence[Exception]) -> QuestionError:
    """The error about catalogs that could not be read for these reasons; Refused if the user may not read catalogd."""
    text = "; ".join(clean(str(each)) for each in problems)
    if not any(isinstance(each.__cause__, Forbidden) for each in problems):
        return QuestionError(text)
    service = f"https:{CATALOG_SERVICE.name}:{PORT_NAME}"
    return Refused(f"{text}; this needs get on services/proxy of {service} in {await session.namespace_text()}")


async def read_catalog(session: Session, catalog: str, path: str, query: Mapping[str, str] | None = None) -> Object:
    """The JSON object at `path` of a catalog, such as "api/v1/packages". Raises CatalogReadError."""
    target = f"/catalogs/{quote(catalog, safe='')}/{path}" + (f"?{urlencode(query)}" if query else "")
    try:
        try:
            return await _through_proxy(session, target)
        except Forbidden as error:
            if error.status != UNAUTHORIZED:
                raise
        return await port_forward.get(session, port_forward.CATALOGD, target)
    except ApiError as error:
        if error.is_of_service:
            raise CatalogReadError(error.message) from error
        raise CatalogReadError(f"catalogd cannot be read through the API server: {error.message}") from error


async def _through_proxy(session: Session, target: str) -> Object:
    """The answer of any replica. One that does not serve the catalog says so with Retry-After; another one may serve it."""
    path = f"{proxy_path(await session.system_namespace())}{target}"
    for _ in range(MAX_REPLICAS_ASKED - 1):
        try:
            return await session.client.request("GET", path, accept=ACCEPT)
        except Unavailable as error:
            if error.retry_after is None:
                raise
    return await session.client.request("GET", path, accept=ACCEPT)


def proxy_path(namespace: str) -> str:
    """The path of the API server that leads to catalogd's Service."""
    return f"/api/v1/namespaces/{namespace}/services/https:{CATALOG_SERVICE.name}:{PORT_NAME}/proxy"
