"""The console on loopback, and a browser for it: it keeps cookies and says where a request comes from, as browsers do."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import jinja2

from console.login import AuthMode
from console.render import CSRF_FIELD, TEMPLATES
from console.routes import Route
from console.server import ConsoleServer, ServerSettings
from console.session import Sealer
from console.setup import serving
from console.user_client import UserClient
from console.users import Users

NAMESPACE = "olm-suite-system"
_CSRF = re.compile(rf'name="{CSRF_FIELD}" value="([0-9a-f]+)"')


@dataclass(frozen=True)
class Answer:
    """A response."""

    status: int
    headers: Mapping[str, str]
    text: str
    set_cookies: tuple[str, ...] = ()


@dataclass
class RemoteBrowser:
    """One browser at one console, which may run anywhere. `cookies` are those that it keeps."""

    http: aiohttp.ClientSession
    origin: str
    cookies: dict[str, str] = field(default_factory=dict, kw_only=True)

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """A page, without following redirects."""
        return await self.send("GET", path, headers={"Sec-Fetch-Site": "same-origin", **(headers or {})})

    async def post(
        self, path: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None, page: str | None = None
    ) -> Answer:
        """Send a form, with the mark that the page `page` has; without one, as it is."""
        given = dict(fields)
        if page is not None:
            given = {CSRF_FIELD: mark_in((await self.get(page)).text), **given}
        sent = {"Sec-Fetch-Site": "same-origin", "Origin": self.origin, **(headers or {})}
        return await self.send("POST", path, data=given, headers=sent)

    async def send(self, method: str, path: str, **options: Any) -> Answer:
        """Any request with the cookies."""
        headers = {**options.pop("headers", {})}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        request = self.http.request(method, self.origin + path, headers=headers, allow_redirects=False, **options)
        async with request as response:
            for name, cookie in response.cookies.items():
                self.cookies[name] = cookie.value
                if not cookie.value:
                    del self.cookies[name]
            made = tuple(response.headers.getall("Set-Cookie", ()))
            return Answer(response.status, dict(response.headers), (await response.read()).decode(), made)

    async def log_in(self, token: str) -> Answer:
        """Paste a token."""
        return await self.post("/login", {"token": token}, page="/login")

    @asynccontextmanager
    async def live(self, page: str, seen: str = "") -> AsyncIterator[AsyncIterator[tuple[str, Any]]]:
        """The events of a page: (name, data)."""
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        headers["Sec-Fetch-Site"] = "same-origin"
        request = self.http.get(f"{self.origin}/live", params={"page": page, "seen": seen}, headers=headers)
        async with request as response:
            try:
                yield _events(response)
            finally:
                response.close()  # a tab that is closed ends its connection


@dataclass
class Browser(RemoteBrowser):
    """One browser at a console of this process."""

    console: ConsoleServer


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, Any]]:
    rest = b""
    async for chunk in response.content.iter_any():
        *events, rest = (rest + chunk).split(b"\n\n")
        for event in events:
            lines = dict(line.split(b": ", 1) for line in event.splitlines() if not line.startswith(b":"))
            if lines:
                yield lines[b"event"].decode(), json.loads(lines[b"data"])


def mark_in(html: str) -> str:
    """The mark of the forms of a page; "" if it has none."""
    found = _CSRF.search(html)
    return found[1] if found else ""


def state_in(html: str) -> str:
    """The state that a live page has."""
    found = re.search(r'data-state="([0-9a-f]+)"', html)
    return found[1] if found else ""


@asynccontextmanager
async def running_console(
    kubeconfig: str,
    auth: AuthMode = AuthMode.TOKEN,
    *,
    hosts: tuple[str, ...] | None = None,
    key: bytes = b"k" * 32,
    routes: Iterable[Route] | None = None,
    templates: Mapping[str, str] | None = None,
) -> AsyncIterator[Browser]:
    """A console for the API server of a kubeconfig, and a browser with nothing in it. With AuthMode.KUBECONFIG the browser has
    a session. `routes` are those of the console if None; `templates` are there beside its own."""
    async with (
        UserClient(kubeconfig, is_anonymous=auth is not AuthMode.KUBECONFIG) as client,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
    ):
        await client.open()
        settings = ServerSettings(auth, hosts, NAMESPACE)
        server = ConsoleServer(settings, Users(client, NAMESPACE), Sealer(key), routes)
        server._renderer._templates.loader = jinja2.ChoiceLoader(
            [jinja2.DictLoader(templates or {}), jinja2.FileSystemLoader(TEMPLATES)]
        )
        async with serving(server, "127.0.0.1:0", None):
            browser = Browser(http, f"http://127.0.0.1:{server.port}", server)
            if auth is AuthMode.KUBECONFIG:
                await browser.get(f"/login/{server.logins.links.make()}")
            yield browser
