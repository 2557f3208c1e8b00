"""An API server in miniature, for tests without a cluster: it knows tokens, and what their users may do, and serves objects.

It records what it was asked, with the Authorization header of each request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web


@dataclass
class ReviewingApi:
    """`users` by token. `allowed` decides about the attributes of a review. `objects` are the answers by path."""

    users: dict[str, str] = field(default_factory=dict)
    allowed: Callable[[dict[str, Any]], bool] = lambda _: True
    objects: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """(method, path, Authorization)."""
    kubeconfig: Path = Path()

    async def handle(self, request: web.Request) -> web.Response:
        """Answer a request as the API server does."""
        authorization = request.headers.get("Authorization", "")
        self.asked.append((request.method, request.path, authorization))
        user = self.users.get(authorization.removeprefix("Bearer "))
        if user is None:
            return _status(401, "Unauthorized", "Unauthorized")
        if request.path.endswith("/selfsubjectreviews"):
            return web.json_response({"status": {"userInfo": {"username": user, "groups": ["system:authenticated"]}}})
        if request.path.endswith("/selfsubjectaccessreviews"):
            attributes = (await request.json())["spec"]["resourceAttributes"]
            return web.json_response({"status": {"allowed": self.allowed(attributes)}})
        found = self.objects.get(request.path)
        if found is None:
            return _status(404, "NotFound", f"there is nothing at {request.path}")
        if isinstance(found, int):
            return _status(found, "Forbidden", f'User "{user}" cannot list resource "operators" in API group "g"')
        return web.json_response(found)


def _status(code: int, reason: str, message: str) -> web.Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    return web.json_response(body, status=code)


@asynccontextmanager
async def reviewing_api(directory: Path, users: dict[str, str]) -> AsyncIterator[ReviewingApi]:
    """The server, and a kubeconfig for it without credentials."""
    api = ReviewingApi(users)
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    api.kubeconfig = directory / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": "the-token-of-the-kubeconfig"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    api.kubeconfig.write_text(yaml.safe_dump(config))
    try:
        yield api
    finally:
        await runner.cleanup()
