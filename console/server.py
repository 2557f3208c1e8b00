"""The HTTP server of the console: from a request to the handler of its page, and from the answer to a response.

A request passes its host, its session, the rate of the session and, if it is a POST, its origin and the mark of its form,
before a handler runs. Pages are in console.pages, one list of routes per module. Reads nothing of the cluster itself but the
names of namespaces for the header.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from aiohttp import web
from aiohttp.typedefs import Handler

from console import metrics
from console.access import Ask
from console.assets import Assets
from console.live import stream
from console.live.hub import END, LOGIN, Hub
from console.login import AuthMode, Cookies, LoginRefused, Logins, is_unauthorized
from console.middlewares import (
    LOOPBACK,
    add_headers,
    host_middleware,
    is_from_elsewhere,
    is_same_origin,
    safe_path,
)
from console.page import Answer, BadInput, ConsoleOptions, Fields, NotThere, Page, PageRequest, Raw, Redirect
from console.pages import (
    actions,
    catalog,
    catalog_edit,
    catalogs,
    editor,
    icons,
    install,
    instance,
    instance_form,
    instances,
    operator,
    operators,
    package,
    setup_help,
    suite,
)
from console.previewer import Previewer
from console.problems import problem_of
from console.render import CSRF_FIELD, Frame, Rendered, Renderer
from console.routes import Route, RouteTable, Watch, without_refused
from console.session import Sealer, is_same, new_id
from console.user_client import Reading
from console.users import TooManySessions, Users, UserSession
from console.views.errors import LoginView
from olmctl.questions.session import Session
from olmkit.api.names import is_dns1123_label
from olmkit.errors import ApiError, Forbidden, NotFound
from olmkit.runtime.listener.listener import connection_limit_middleware, connection_tracking_middleware

PAGE_MODULES = (
    setup_help,
    catalog,
    package,
    install,
    operators,
    operator,
    actions,
    instances,
    instance,
    instance_form,
    editor,
    catalogs,
    catalog_edit,
    suite,
    icons,
)
"""Each has ROUTES."""
MAX_BODY_BYTES = 1024 * 1024
MAX_FORM_FIELDS = 2000
TYPED = "typed"
"""The field of a form that a script sends while a person types. What is wrong with it is no error then: browsers report these."""
FORM = "application/x-www-form-urlencoded"
REFRESH_SECONDS = 15
FLASH_SECONDS = 60
ENDING_SECONDS = 2.0
"""The time that requests in progress have when the process ends."""
CANCELLING_SECONDS = 1.0
"""The time that they have to end when they are cancelled."""
RAW_HEADERS = ("Cache-Control", "Content-Security-Policy", "Content-Disposition", "ETag")
"""Headers that a handler may set."""


@dataclass(frozen=True)
class ServerSettings:
    """`hosts` are those of --host; None on loopback, where the port decides. `system_namespace` is that of the suite."""

    auth: AuthMode
    hosts: tuple[str, ...] | None = None
    system_namespace: str = "olm-suite-system"
    options: ConsoleOptions = field(default_factory=ConsoleOptions)


class ConsoleServer:
    """The application, which an ApplicationServer serves. `port` is set when it is known."""

    def __init__(
        self, settings: ServerSettings, users: Users, sealer: Sealer, routes: Iterable[Route] | None = None
    ) -> None:
        """`routes` are those of PAGE_MODULES if None."""
        self.port = 0
        self.settings = settings
        self.users = users
        self.logins = Logins(settings.auth, users, sealer, self._cookies)
        self._sealer = sealer
        self._assets = Assets()
        self._renderer = Renderer(self._assets.path)
        self._table = RouteTable(_all_routes() if routes is None else routes)
        self._hubs: dict[str, Hub] = {}
        self._previewer = Previewer()
        self._is_ending = False
        self._requests: set[asyncio.Task[Any]] = set()
        """Those in progress."""

    def _cookies(self) -> Cookies:
        return Cookies.on_loopback(self.port) if self.settings.hosts is None else Cookies.in_cluster()

    def _hosts(self) -> tuple[str, ...]:
        hosts = self.settings.hosts
        return tuple(f"{host}:{self.port}" for host in LOOPBACK) if hosts is None else hosts

    def application(self) -> web.Application:
        """The routes and what each request passes."""
        middlewares = [
            connection_tracking_middleware,
            host_middleware(self._hosts),
            connection_limit_middleware,
            self._errors_middleware,
        ]
        application = web.Application(middlewares=middlewares, client_max_size=MAX_BODY_BYTES)
        application.on_response_prepare.append(add_headers)
        add = application.router.add_route
        add("GET", "/healthz", _healthz)
        add("GET", "/assets/{digest}/{name:.+}", self._asset)
        add("GET", "/login", self._login_page)
        add("POST", "/login", self._log_in)
        add("GET", "/login/{link}", self._log_in_once)
        add("POST", "/logout", self._log_out)
        add("GET", "/live", self._live)
        for route in self._table.routes:
            add(route.method, route.path, self._handler(route))
        application.on_shutdown.append(self._end)
        return application

    # --- errors

    @web.middleware
    async def _errors_middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._requests.add(task)
        try:
            response = await self._answered(request, handler)
        finally:
            self._requests.discard(task)
        resource = request.match_info.route.resource
        metrics.REQUESTS.labels(resource.canonical if resource is not None else "", str(response.status)).inc()
        return response

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The response, or the page of the error that the handler has raised."""
        if self._is_ending:
            return await stream.send_one(request, END) if request.path == "/live" else _ending()
        try:
            return await handler(request)
        except web.HTTPException as error:
            if error.status < 400 or error.status in (413, 503):
                raise
            wrong: Exception = NotThere(f"{request.path[:200]} is no page of this console.")
            if error.status == 405:
                wrong = BadInput("", f"{request.method} is no method of this page")
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # each one becomes a page
            wrong = error
        if self._is_ending:  # what it needs may be closed
            return _ending()
        if isinstance(wrong, Forbidden) and is_unauthorized(wrong):
            return await self._to_login(request, is_ended=True)
        problem = problem_of(wrong, request.path)
        page = Page("error.html", problem.view, problem.view.title, status=problem.status)
        return self._respond(page, await self._frame_of_error(request))

    # --- the login

    async def _to_login(self, request: web.Request, *, is_ended: bool = False) -> web.Response:
        """The login, which leads back; or this page again if a link of another site has led here, for the browser's cookie."""
        if is_from_elsewhere(request) and not is_ended:
            target = safe_path(request.raw_path)
            return self._respond(Page("again.html", target, "Opening"), self._bare_frame(request))
        back = urlencode({"back": safe_path(request.raw_path)}) if request.method == "GET" else ""
        response = _redirect("/login" + (f"?{back}" if back else ""))
        if is_ended:
            self.logins.forget(response, None)
        return response

    async def _login_page(self, request: web.Request, error: str = "", status: int = 200) -> web.Response:
        nonce = new_id()
        mode = self.settings.auth
        view = LoginView(
            error, safe_path(request.query.get("back", "/")), mode is AuthMode.KUBECONFIG, mode is AuthMode.HEADER
        )
        frame = replace(self._bare_frame(request), csrf=self._sealer.mark("login", nonce))
        response = self._respond(Page("login.html", view, "Log in", status=status), frame)
        self._cookies().set(response, self._login_cookie, nonce, 3600)
        return response

    @property
    def _login_cookie(self) -> str:
        return f"{self._cookies().name}-login"

    async def _log_in(self, request: web.Request) -> web.Response:
        is_from_here = is_same_origin(request)
        form = await _read_form(request) if is_from_here else Fields()
        nonce = request.cookies.get(self._login_cookie, "")
        if self.settings.auth is not AuthMode.TOKEN or not is_from_here or not nonce:
            return await self._login_page(request, "The form did not come from this page. Try again.", 403)
        if not self._sealer.is_mark(form.one(CSRF_FIELD), "login", nonce):
            return await self._login_page(request, "The page was open for too long. Try again.", 403)
        response = _redirect(safe_path(form.one("back", "/")))
        try:
            self.logins.keep(response, await self.logins.log_in(form.one("token"), request.remote or ""))
        except LoginRefused as error:
            return await self._login_page(request, str(error), 401)
        self._cookies().delete(response, self._login_cookie)
        return response

    async def _log_in_once(self, request: web.Request) -> web.Response:
        ticket = await self.logins.log_in_once(request.match_info["link"])
        if ticket is None:
            return await self._login_page(request, "This link was used already, or it is older than a minute.", 401)
        response = _redirect("/")
        self.logins.keep(response, ticket)
        return response

    async def _log_out(self, request: web.Request) -> web.Response:
        session = await self.logins.find(request)
        if session is not None:
            await self._check_form(request, session)
        response = _redirect("/login")
        self.logins.forget(response, session)
        response.headers["Clear-Site-Data"] = '"cache"'
        return response

    # --- pages

    def _handler(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            session = await self.logins.find(request)
            if session is None:
                return await self._to_login(request)
            if not session.take(route.weight):
                return web.Response(status=429, text="Too many requests.\n", headers={"Retry-After": "1"})
            form = await self._check_form(request, session) if request.method == "POST" else Fields()
            asked = self.page_request(session, request.raw_path, dict(request.match_info), form=form)
            found = await route.handler(asked)
            if isinstance(found, Redirect):
                return self._redirected(found, asked, session)
            if isinstance(found, Page) and form.one(TYPED) and found.status in (409, 422):
                found = replace(found, status=200)
            return self._respond(found, await self.frame(route, asked, session, self._flash(request, session)))

        return handle

    async def _check_form(self, request: web.Request, session: UserSession) -> Fields:
        """The fields of a form that a page of this session has sent. Raises Forbidden for any other."""
        if not is_same_origin(request):
            raise Forbidden(403, "CrossSite", "The form did not come from a page of this console.")
        form = await _read_form(request)
        if not self.logins.is_mark(form.one(CSRF_FIELD), session):
            raise Forbidden(403, "BadForm", "The form is not of this session. Load the page again.")
        return Fields(pair for pair in form if pair[0] != CSRF_FIELD)

    def page_request(
        self,
        session: UserSession,
        url: str,
        path: Mapping[str, str],
        *,
        form: Fields | None = None,
        reading: Reading | None = None,
    ) -> PageRequest:
        """The request for the handler of a page; `reading` is what is known when it is rendered again. Raises BadInput."""
        query = _query_of(url)
        namespace = query.one("ns") or None
        if namespace is not None and not is_dns1123_label(namespace):
            raise BadInput("ns", f"{namespace[:100]} is no name of a namespace")
        client = session.client if reading is None else session.client.reading_from(reading)
        return PageRequest(
            session=Session(client, self.settings.system_namespace),
            user=session.user,
            access=session.client.access,
            path=path,
            query=query,
            form=form or Fields(),
            namespace=namespace,
            here=url,
            is_live=reading is not None,
            options=self.settings.options,
            previewer=self._previewer,
        )

    async def frame(self, route: Route, asked: PageRequest, session: UserSession, flash: tuple[str, str]) -> Frame:
        """The values around a page."""
        is_live = bool(route.method == "GET" and route.watched(asked))
        return replace(
            self._content_frame(asked),
            user=session.user,
            namespaces=await session.read_namespaces(),
            csrf=self.logins.mark_of(session),
            flash=flash[1],
            flash_kind=flash[0],
            is_live=is_live,
            refresh_seconds=REFRESH_SECONDS if is_live and route.refresh_without_js else 0,
            can_log_out=self.logins.is_open_to_logout,
            query=tuple(pair for pair in asked.query if pair[0] not in ("ns", "page")),
        )

    async def _frame_of_error(self, request: web.Request) -> Frame:
        """The frame of who has logged in, so that an error is no dead end; a bare one for everybody else."""
        frame = self._bare_frame(request)
        try:
            session = await self.logins.find(request)
        except (ApiError, TooManySessions):
            session = None
        if session is None:
            return frame
        return replace(
            frame,
            user=session.user,
            namespaces=session.namespaces,
            csrf=self.logins.mark_of(session),
            can_log_out=self.logins.is_open_to_logout,
        )

    def _content_frame(self, asked: PageRequest) -> Frame:
        """The values that the content of a page may depend on, for all users."""
        return Frame(here=asked.here, namespace=asked.namespace, options=self.settings.options)

    def _bare_frame(self, request: web.Request) -> Frame:
        return Frame(here=safe_path(request.raw_path), options=self.settings.options)

    def _respond(self, answer: Answer, frame: Frame) -> web.Response:
        assert not isinstance(answer, Redirect)
        if isinstance(answer, Raw):
            kept = {name: value for name, value in answer.headers.items() if name in RAW_HEADERS}
            return web.Response(
                body=answer.body, status=answer.status, headers={**kept, "Content-Type": answer.content_type}
            )
        named = replace(frame, title=answer.title, section=answer.section, scripts=answer.scripts)
        if answer.follows:
            named = replace(named, is_live=True, follows=answer.follows)
        text = self._renderer.page(answer, named)
        response = web.Response(text=text, status=answer.status, content_type="text/html", charset="utf-8")
        if frame.flash:
            self._cookies().delete(response, self._flash_cookie)
        response.enable_compression()
        return response

    # --- pages that follow the cluster

    async def _live(self, request: web.Request) -> web.StreamResponse:
        session = await self.logins.find(request)
        if session is None or not (is_same_origin(request) or "Sec-Fetch-Site" not in request.headers):
            return await stream.send_one(request, LOGIN)
        url = safe_path(request.query.get("page", ""), "")
        found = self._table.page(url.partition("?")[0])
        if found is None:
            raise NotThere("There is no such page to follow.")
        route, path = found
        asked = self.page_request(session, url, path)
        hub = self._hub(session)
        watches = await self._watches(route, asked) if session.take() else ()
        if not watches or not await hub.has_room():
            return web.Response(status=429, text="Too many streams.\n", headers={"Retry-After": "5"})
        if self._hubs.get(session.id) is not hub:
            return await stream.send_one(request, END)
        page, opened = hub.open(url, watches, request.query.get("seen", ""))
        session.streams += 1

        def close() -> None:
            session.streams -= 1
            hub.close(page, opened)

        return await stream.send(request, opened, session.expires, close)

    async def _watches(self, route: Route, asked: PageRequest) -> tuple[Watch, ...]:
        """The watches of a page, as to what its user may follow."""
        watches = route.watched(asked)
        required = [each for each in watches if not each.is_optional]
        if len(required) < 2:
            return watches
        asks = (Ask("watch", each.kind, each.namespace, each.name or "") for each in required)
        verdicts = map(bool, await asked.access.each(*asks))
        return without_refused(watches, dict(zip(required, verdicts, strict=True)))

    def _hub(self, session: UserSession) -> Hub:
        async def render(url: str, reading: Reading) -> Rendered:
            found = self._table.page(url.partition("?")[0])
            assert found is not None
            asked = self.page_request(session, url, found[1], reading=reading)
            answer = await found[0].handler(asked)
            if not isinstance(answer, Page):
                raise NotFound(404, "NotFound", "the page leads elsewhere")
            return self._renderer.content(answer, self._content_frame(asked), self.logins.mark_of(session))

        hub = self._hubs.get(session.id)
        if hub is None:
            hub = self._hubs[session.id] = Hub(session.client, render)
            session.on_end = lambda: self._end_hub(session.id)
        return hub

    def _end_hub(self, identity: str) -> None:
        hub = self._hubs.pop(identity, None)
        if hub is not None:
            hub.end()

    async def _end(self, _: web.Application) -> None:
        """End the streams, then wait for the requests in progress, within a bound: afterwards none uses what is closed."""
        self._is_ending = True
        for hub in [*self._hubs.values()]:
            hub.end(END)
        self._hubs.clear()
        for seconds in (ENDING_SECONDS, CANCELLING_SECONDS):
            if not self._requests:
                return
            late = (await asyncio.wait(self._requests, timeout=seconds))[1]
            for task in late:
                task.cancel()

    async def close(self) -> None:
        """End the process that makes previews."""
        await self._previewer.close()

    # --- redirects with a sentence

    @property
    def _flash_cookie(self) -> str:
        return f"{self._cookies().name}-flash"

    def _redirected(self, answer: Redirect, asked: PageRequest, session: UserSession) -> web.Response:
        to = safe_path(answer.to)
        path, _, query = to.partition("?")
        if asked.namespace and "ns=" not in query:
            to = f"{path}?{f'{query}&' if query else ''}ns={quote(asked.namespace)}"
        response = _redirect(to)
        if answer.flash:
            text = f"{session.id}\0{answer.flash_kind}\0{answer.flash[:1000]}".encode()
            sealed = self._sealer.seal(text, self._flash_cookie)
            self._cookies().set(response, self._flash_cookie, sealed, FLASH_SECONDS)
        return response

    def _flash(self, request: web.Request, session: UserSession) -> tuple[str, str]:
        """The kind and the sentence that the last write has left for this page."""
        sealed = request.cookies.get(self._flash_cookie, "")
        plain = self._sealer.open(sealed, self._flash_cookie) if sealed else None
        if plain is None:
            return "ok", ""
        identity, kind, text = plain.decode().split("\0", 2)
        return (kind, text) if is_same(identity, session.id) else ("ok", "")

    # --- assets

    async def _asset(self, request: web.Request) -> web.Response:
        asset = self._assets.get(request.match_info["digest"], request.match_info["name"])
        if asset is None:
            return web.Response(status=404, text="There is no such file.\n")
        headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
        body = asset.body
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            body, headers["Content-Encoding"] = asset.compressed, "gzip"
        return web.Response(body=body, headers=headers, content_type=asset.media_type, charset="utf-8")


def _all_routes() -> Iterator[Route]:
    for module in PAGE_MODULES:
        yield from module.ROUTES


def _query_of(url: str) -> Fields:
    """The query of a URL. Raises BadInput."""
    try:
        pairs = parse_qsl(
            url.partition("?")[2], keep_blank_values=True, errors="strict", max_num_fields=MAX_FORM_FIELDS
        )
    except ValueError as error:
        raise BadInput("", "the query is not UTF-8, or it has too many fields") from error
    return Fields(pairs)


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")


def _ending() -> web.Response:
    return web.Response(status=503, text="The console ends.\n", headers={"Retry-After": "1", "Connection": "close"})


def _redirect(to: str) -> web.Response:
    return web.Response(status=303, headers={"Location": to})


async def _read_form(request: web.Request) -> Fields:
    """The fields of the body. Raises BadInput for one that is no form."""
    if request.content_type != FORM:
        raise BadInput("", f"the body is {request.content_type[:100]}, and forms are {FORM}")
    raw = await request.read()
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FORM_FIELDS, separator="&"
        )
    except ValueError as error:
        raise BadInput("", "the form is not UTF-8, or it has too many fields") from error
    return Fields((name, value.replace("\r\n", "\n")) for name, value in pairs)
