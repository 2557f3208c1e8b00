"""The checks that every request passes before a page, of its host and its origin; and the headers of every response.

Each check is of the request alone. The checks that need a session are in console.server.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types console"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # With no-referrer, browsers send `Origin: null` with the forms of the console itself.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""Of every response, unless it has the header already."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """A signal of aiohttp, called before each response is sent."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.pop("Server", None)


def host_middleware(hosts: Callable[[], Collection[str]]) -> Middleware:
    """Answers 421 to a request whose Host is none of `hosts`: a page of another site that has rebound its name to this address.

    An entry without a port stands for each port.
    """

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        host = request.headers.get("Host", "").lower()
        if request.path != "/healthz" and not {host, without_port(host)} & set(hosts()):
            return web.Response(
                status=421,
                text="This console does not serve the host of the request. Its --host names those that it does.\n",
            )
        return await handler(request)

    return checked


def without_port(host: str) -> str:
    """The host of `host:port`."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def is_same_origin(request: web.Request) -> bool:
    """Report whether a page of the console itself has sent the request, as the browser says.

    A browser without Sec-Fetch-Site says it by Origin; one that says nothing is not believed.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("Origin", "")
    return origin.lower() in {f"{scheme}://{request.headers.get('Host', '').lower()}" for scheme in ("https", "http")}


def is_from_elsewhere(request: web.Request) -> bool:
    """Report whether a link of another site has led here: the browser then keeps the cookie of the session back."""
    return request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")


def safe_path(path: str, default: str = "/") -> str:
    """A path of the console to return to; `default` for what could lead elsewhere, or to the login itself."""
    is_path = path.startswith("/") and not path.startswith(("//", "/\\", "/login", "/logout", "/live"))
    is_plain = path.isascii() and path.isprintable() and "\\" not in path and len(path) <= 2000
    return path if is_path and is_plain else default
