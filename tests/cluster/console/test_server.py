"""The lines of the console's security that are about requests and responses: each with a real request to the real server."""

from __future__ import annotations

import io

import pytest

from console import users
from console.middlewares import HEADERS
from tests.cluster.console.conftest import Tokens
from tests.console import Browser, mark_in

ELSEWHERE = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}


@pytest.fixture
async def logged_in(browser: Browser, tokens: Tokens) -> Browser:
    """The browser with a session of Anna."""
    await browser.log_in(tokens.anna)
    return browser


@pytest.mark.parametrize("path", ["/login", "/healthz", "/nowhere", "/live?page=/", "/", "/assets/0/console.css"])
async def test_each_response_has_the_headers(browser: Browser, path: str) -> None:
    answer = await browser.get(path)
    kept = {name: value for name, value in HEADERS.items() if name != "Cache-Control"}
    assert {name: answer.headers.get(name) for name in kept} == kept
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Server" not in answer.headers


def test_the_policy_allows_no_inline_script_and_no_other_host() -> None:
    policy = dict(part.strip().partition(" ")[::2] for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    for name in ("script-src", "style-src", "img-src", "connect-src", "form-action"):
        assert policy[name] == "'self'"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example", ""])
async def test_a_name_that_was_rebound_to_this_address_is_refused(logged_in: Browser, host: str) -> None:
    answer = await logged_in.get("/", {"Host": host})
    assert answer.status == 421
    assert "anna" not in answer.text


async def test_the_console_is_served_under_its_hosts(browser: Browser) -> None:
    port = browser.origin.rpartition(":")[2]
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert (await browser.get("/login", {"Host": host})).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(ELSEWHERE, id="another site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="another host of the same site"),
        pytest.param({"Sec-Fetch-Site": "none"}, id="no page"),
        pytest.param({"Sec-Fetch-Site": "cross-site", "Origin": ""}, id="another site without an origin"),
    ],
)
async def test_a_form_of_another_site_does_nothing(logged_in: Browser, headers: dict[str, str]) -> None:
    """Even with the mark of a form of this session."""
    answer = await logged_in.post("/logout", {}, headers, page="/")
    assert answer.status == 403
    assert (await logged_in.get("/")).status == 200


async def test_a_browser_without_fetch_metadata_is_judged_by_the_origin(logged_in: Browser) -> None:
    csrf = {"csrf": mark_in((await logged_in.get("/")).text)}
    for origin, status in (("https://evil.example", 403), ("", 403), (logged_in.origin, 303)):
        answer = await logged_in.send("POST", "/logout", data=csrf, headers={"Origin": origin} if origin else {})
        assert answer.status == status


@pytest.mark.parametrize("mark", ["", "0" * 64, "é", "\udcff"])
async def test_a_form_without_the_mark_of_the_session_does_nothing(logged_in: Browser, mark: str) -> None:
    answer = await logged_in.post("/logout", {"csrf": mark.encode("utf-8", "replace").decode()})
    assert answer.status == 403
    assert (await logged_in.get("/")).status == 200


async def test_the_mark_of_another_session_counts_for_nothing(browser: Browser, tokens: Tokens) -> None:
    await browser.log_in(tokens.ben)
    of_ben = mark_in((await browser.get("/")).text)
    browser.cookies.clear()
    await browser.log_in(tokens.anna)
    assert (await browser.post("/logout", {"csrf": of_ben})).status == 403


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", b"csrf=x"),
        ("application/json", b"{}"),
        ("multipart/form-data; boundary=x", b"--x--"),
        ("application/x-www-form-urlencoded", b"a=%ff"),
        ("application/x-www-form-urlencoded", b"\xff=1"),
        ("application/x-www-form-urlencoded", b"a=%00"),
        ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % each for each in range(2001))),
    ],
)
async def test_a_body_that_is_no_form_is_refused(logged_in: Browser, kind: str, body: bytes) -> None:
    headers = {"Content-Type": kind, "Sec-Fetch-Site": "same-origin"}
    assert (await logged_in.send("POST", "/logout", data=body, headers=headers)).status == 400


async def test_a_body_of_more_than_a_mebibyte_is_refused(logged_in: Browser) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
    answer = await logged_in.send("POST", "/logout", data=io.BytesIO(b"a" * (1024 * 1024 + 1)), headers=headers)
    assert answer.status == 413


@pytest.mark.parametrize("query", ["ns=UPPER", "ns=a/b", "ns=%00", "ns=%ff", "ns=" + "a" * 64, "ns=<script>"])
async def test_a_wrong_namespace_is_named(logged_in: Browser, query: str) -> None:
    answer = await logged_in.get(f"/?{query}")
    assert answer.status == 400
    assert "<script>" not in answer.text


@pytest.mark.parametrize(
    "path", ["/<script>alert(1)</script>", "/%3Cscript%3E", "/%00", "/%ff", "/../../etc/passwd", "//evil"]
)
async def test_a_path_that_is_no_page_is_shown_as_text(logged_in: Browser, path: str) -> None:
    answer = await logged_in.get(path)
    assert answer.status == 404
    assert "<script>a" not in answer.text


async def test_requests_of_one_session_are_limited(
    browser: Browser, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "BURST", 3)
    monkeypatch.setattr(users, "REQUESTS_PER_SECOND", 1e-6)
    await browser.log_in(tokens.anna)
    statuses = [(await browser.get("/")).status for _ in range(5)]
    assert (statuses[0], statuses[-1]) == (200, 429)


async def test_an_asset_is_kept_for_a_year_under_its_digest(browser: Browser) -> None:
    page = await browser.get("/login")
    path = page.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
    answer = await browser.get(path)
    assert answer.status == 200
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
    for missing in (
        path.replace("console.css", "vendor/idiomorph/LICENSE"),
        path.replace("console.css", "..%2f__init__.py"),
    ):
        assert (await browser.get(missing)).status == 404
