"""What the debug server answers to a client that may read everything, over TLS."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from olmkit.tls.certificate_authority import create
from olmkit.tls.client_tls import client_context
from olmkit.tls.server_tls import ServerTls
from operator_controller.debug.server import CONNECTION_LIMITS, AnswerStore, DebugServer
from operator_controller.resolve.answers.answer import (
    Answer,
    AnswerKind,
    Dependency,
    Member,
    PackageToInstall,
    SelectedBundle,
)
from operator_controller.resolve.explain.statements import Statement, StatementKind

ANSWER = Answer(
    operator="party",
    uid="u",
    digest="sha256:1",
    kind=AnswerKind.CHOSEN,
    is_resolved=True,
    message='resolved to "r/party:1"',
    text="1.0.0 of channel stable",
    bundle=SelectedBundle("party.v1", "1.0.0", "r/party:1", "registry+v1", "c", "stable"),
    target_version="1.1.0",
    available_version="2.0.0",
    available_reason="2.0.0 is available too",
    dependencies=(Dependency("message-board", "2.0.0", "c", "message-board.v2", 'package "message-board"'),),
    to_install=(PackageToInstall("message-board", "2.0.0", "c", ("party",)),),
    members=(Member("message-board", "message-board.v2", "2.0.0", is_changed=True),),
    clauses=(Statement("party", StatementKind.REQUEST, "party is asked for"),),
)


@dataclass
class Answers:
    """The answers of a Snapshot that a test has made."""

    snapshot_number: int = 7
    answers: Mapping[str, Answer] = field(default_factory=dict)
    is_leading: bool = True


@web.middleware
async def allow(request: web.Request, handler: Handler) -> web.StreamResponse:
    return await handler(request)


@web.middleware
async def refuse(request: web.Request, handler: Handler) -> web.StreamResponse:
    raise web.HTTPForbidden(reason="you may not")


class Site:
    """The server, and a client of it."""

    def __init__(self, store: Answers, http: aiohttp.ClientSession, port: int) -> None:
        self.store, self._http, self.url = store, http, f"https://localhost:{port}"

    async def get(self, path: str, method: str = "GET", **options: Any) -> tuple[int, Any, Mapping[str, str]]:
        async with self._http.request(method, self.url + path, **options) as answer:
            text = await answer.text()
            assert answer.content_type == "application/json"
            return answer.status, await answer.json() if text else None, answer.headers


@contextlib.asynccontextmanager
async def serving(authorize: Any = allow) -> AsyncIterator[Site]:
    certificates = create(("localhost",), datetime.now(UTC))
    tls = ServerTls()
    tls.use(certificates.leaf)
    store = Answers()
    typed: AnswerStore = store
    server = DebugServer(typed, lambda: store.is_leading)
    context: ssl.SSLContext = client_context(certificates.ca_bundle().decode(), with_system=False)
    try:
        port = await server.start("127.0.0.1:0", tls.context, authorize)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as http:
            yield Site(store, http, port)
    finally:
        await server.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as made:
        yield made


async def test_the_list_has_each_operator_with_its_digest(site: Site) -> None:
    site.store.answers = {"b": replace(ANSWER, operator="b", digest="sha256:2"), "a": ANSWER}
    status, found, _ = await site.get("/debug/resolutions")
    entries = [{"operator": "a", "digest": "sha256:1"}, {"operator": "b", "digest": "sha256:2"}]
    assert (status, found) == (200, {"snapshot": 7, "resolutions": entries})


async def test_a_resolution_has_the_whole_answer(site: Site) -> None:
    site.store.answers = {"party": ANSWER}
    status, found, _ = await site.get("/debug/resolutions/party")
    assert status == 200
    assert (found["snapshot"], found["digest"], found["operator"], found["kind"]) == (7, "sha256:1", "party", "chosen")
    assert (found["isResolved"], found["text"]) == (True, "1.0.0 of channel stable")
    assert found["bundle"]["mediaType"] == "registry+v1"
    assert (found["targetVersion"], found["availableVersion"]) == ("1.1.0", "2.0.0")
    assert found["availableReason"] == "2.0.0 is available too"
    assert found["clauses"] == [{"subject": "party", "kind": "request", "sentence": "party is asked for"}]
    assert found["dependencies"][0]["sentence"] == 'package "message-board"'
    assert found["toInstall"][0]["neededFor"] == ["party"]
    assert found["members"][0]["isChanged"] is True
    assert len(found) == len(Answer.__dataclass_fields__) + 1


@pytest.mark.parametrize(
    ("path", "method", "status", "said"),
    [
        pytest.param(
            "/debug/resolutions/x", "GET", 404, 'the Operator "x" has no resolution', id="an unknown Operator"
        ),
        pytest.param(
            "/debug/resolutions/%1b%5b31m", "GET", 404, r'"\x1b[31m" has no', id="a name that is not printable"
        ),
        pytest.param(f"/debug/resolutions/{'x' * 4000}", "GET", 404, 'x…" has no', id="a long name"),
        pytest.param("/debug/", "GET", 404, "no such path; try /debug/resolutions", id="another path"),
        pytest.param("/debug/resolutions", "DELETE", 405, "only GET and HEAD are supported", id="another method"),
    ],
)
async def test_errors_are_json_and_say_why(site: Site, path: str, method: str, status: int, said: str) -> None:
    site.store.answers = {"party": ANSWER}
    found = await site.get(path, method)
    assert found[0] == status
    assert said in found[1]["error"]
    assert len(found[1]["error"]) < 400


async def test_a_request_with_a_body_is_rejected(site: Site) -> None:
    status, found, _ = await site.get("/debug/resolutions", data=b"x")
    assert (status, found) == (413, {"error": "the request must not have a body"})


async def test_a_replica_that_does_not_lead_says_so(site: Site) -> None:
    site.store.answers, site.store.is_leading = {"party": ANSWER}, False
    for path in ("/debug/resolutions", "/debug/resolutions/party"):
        status, found, headers = await site.get(path)
        assert (status, headers["Retry-After"]) == (503, "2")
        assert "this replica does not lead" in found["error"]


async def test_before_the_first_snapshot_is_solved_nothing_is_known(site: Site) -> None:
    site.store.snapshot_number = 0
    status, found, headers = await site.get("/debug/resolutions/party")
    assert (status, found, headers["Retry-After"]) == (503, {"error": "nothing is resolved yet"}, "2")


async def test_everything_is_authorized_also_paths_that_do_not_exist() -> None:
    async with serving(refuse) as site:
        for path in ("/debug/resolutions", "/debug/resolutions/party", "/nothing"):
            status, found, _ = await site.get(path)
            assert (status, found) == (403, {"error": "you may not"})


async def test_a_large_trace_is_complete_also_for_many_clients_at_once(site: Site) -> None:
    clauses = tuple(Statement(f"p{number}", StatementKind.REQUEST, "s" * 300) for number in range(1_000))
    members = tuple(Member(f"p{number}", f"p{number}.v1", "1.0.0") for number in range(5_000))
    site.store.answers = {"party": replace(ANSWER, clauses=clauses, members=members)}
    found = await asyncio.gather(*(site.get("/debug/resolutions/party") for _ in range(8)))
    assert [(status, len(trace["clauses"]), len(trace["members"])) for status, trace, _ in found] == [
        (200, 1_000, 5_000)
    ] * 8


def test_the_port_has_few_connections() -> None:
    assert CONNECTION_LIMITS.max_connections <= 16
