"""Delegated authentication and authorization of an aggregated API server, as an aiohttp middleware.

The API server proxies a request with its own client certificate and names the user in headers. Who signs that certificate and
which headers count stands in a ConfigMap of kube-system, which is read at the start. Whether the user may do what the request
asks, a SubjectAccessReview answers. Caches nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from olmkit.api.meta import Kind
from olmkit.runtime.client import Client

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
AUTHENTICATED = "system:authenticated"
"""The group of each user who has been authenticated."""
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

Attributes = Mapping[str, Any]


@dataclass(frozen=True)
class RequestHeaders:
    """The settings that the API server publishes about the requests that it proxies. `allowed_names` empty: any certificate
    of the CA."""

    authority: str
    allowed_names: tuple[str, ...]
    user: tuple[str, ...]
    group: tuple[str, ...]

    @classmethod
    async def read(cls, client: Client) -> RequestHeaders:
        """Raises ApiError, Forbidden for a ServiceAccount that lacks the Role extension-apiserver-authentication-reader."""
        found = await client.get(CONFIG_MAP, "extension-apiserver-authentication", "kube-system")
        data = found["data"]

        def names(key: str) -> tuple[str, ...]:
            return tuple(json.loads(data.get(f"requestheader-{key}", "[]")))

        authority = data["requestheader-client-ca-file"]
        return cls(authority, names("allowed-names"), names("username-headers"), names("group-headers"))

    def user_of(self, request: web.Request) -> tuple[str, list[str]] | None:
        """The user and groups of a request that the API server has proxied; None for any other request."""
        name = _certificate_name(request)
        if name is None or (self.allowed_names and name not in self.allowed_names):
            return None
        user = next((request.headers[header] for header in self.user if request.headers.get(header)), "")
        # The API server reads discovery as a user of no group.
        groups = [
            value for header in self.group for value in request.headers.getall(header, ()) if value != AUTHENTICATED
        ]
        return (user, [*groups, AUTHENTICATED]) if user else None


def _certificate_name(request: web.Request) -> str | None:
    """The common name of the client's certificate, which the TLS handshake has verified; None without one."""
    connection = request.transport.get_extra_info("ssl_object") if request.transport else None
    certificate = connection.getpeercert() if connection else None
    if not certificate:
        return None
    return next((value for part in certificate["subject"] for key, value in part if key == "commonName"), "")


def middleware(client: Client, headers: RequestHeaders, attributes: Callable[[web.Request], Attributes]) -> Middleware:
    """Passes requests of users who may do what `attributes` says of a request, as a SubjectAccessReview writes it."""

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        found = headers.user_of(request)
        if found is None:
            raise web.HTTPUnauthorized(text="this request did not come from the API server")
        if request.match_info.http_exception is not None:
            # Clients try methods, such as the namespace controller before it deletes: 403 would not say that there is none.
            raise request.match_info.http_exception
        user, groups = found
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": groups, **attributes(request)},
        }
        status = (await client.request("POST", ACCESS_REVIEWS, body=body)).get("status") or {}
        if not status.get("allowed"):
            raise web.HTTPForbidden(text=f"{user} may not do this: {request.method} {request.path}")
        return await handler(request)

    return checked
