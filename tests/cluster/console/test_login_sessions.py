"""Sessions: who gets one, what its cookie is, and how it ends."""

from __future__ import annotations

import logging
import time

import pytest
from aiohttp import web

from console.login import AuthMode
from console.session import Ticket
from devcluster.cluster import Cluster
from tests.cluster.console.conftest import HOME, Tokens
from tests.console import Browser, running_console


async def test_without_a_session_each_page_leads_to_the_login_and_back(browser: Browser, tokens: Tokens) -> None:
    answer = await browser.get("/?ns=team-a")
    assert (answer.status, answer.headers["Location"]) == (303, "/login?back=%2F%3Fns%3Dteam-a")
    page = await browser.get(answer.headers["Location"])
    assert 'name="back" value="/?ns=team-a"' in page.text
    answer = await browser.post("/login", {"token": tokens.anna, "back": "/?ns=team-a"}, page="/login")
    assert (answer.status, answer.headers["Location"]) == (303, "/?ns=team-a")


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/\\evil.example", "/login", "javascript:x", ""]
)
async def test_the_login_leads_to_no_other_site(browser: Browser, back: str, tokens: Tokens) -> None:
    answer = await browser.post("/login", {"token": tokens.anna, "back": back}, page="/login")
    assert answer.headers["Location"] == "/"


async def test_a_link_of_another_site_opens_the_page_again_for_the_cookie(browser: Browser) -> None:
    """The browser keeps a SameSite=Strict cookie back from the first request."""
    answer = await browser.get("/?ns=team-a", {"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 200
    assert '<meta http-equiv="refresh" content="0;url=/?ns=team-a">' in answer.text


async def test_the_token_is_sent_to_the_api_server_and_is_nowhere_else(
    browser: Browser, caplog: pytest.LogCaptureFixture, tokens: Tokens
) -> None:
    caplog.set_level(logging.DEBUG)
    answers = [await browser.log_in(tokens.anna), await browser.get("/"), await browser.get("/login")]
    assert "anna" in answers[1].text
    for answer in answers:
        assert tokens.anna not in answer.text + str(answer.headers) + str(answer.set_cookies)
    assert not [record for record in caplog.records if tokens.anna in str(vars(record))]


async def test_the_cookie_is_for_no_script_and_no_other_site(browser: Browser, tokens: Tokens) -> None:
    cookies = (await browser.log_in(tokens.anna)).set_cookies
    session = [each for each in cookies if each.startswith(f"olm-console-{browser.console.port}=") and "=;" not in each]
    assert len(session) == 1
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(session[0].split("; "))
    assert tokens.anna not in session[0]


async def test_the_cookie_of_a_cluster_is_secure_and_of_one_host(cluster: Cluster, tokens: Tokens) -> None:
    async with running_console(str(cluster.kubeconfig), **HOME, hosts=("console.example", "127.0.0.1")) as browser:
        cookies = [
            each for each in (await browser.log_in(tokens.anna)).set_cookies if "=;" not in each and '=""' not in each
        ]
        assert [each for each in cookies if each.startswith("__Host-olm-console=") and "; Secure" in each]
        assert all("Secure" in each and "Domain" not in each for each in cookies)


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("wrong", "does not accept the token"),
        ("", "Paste a token"),
        ("two words", "no blanks"),
        ("line\nend", "no blanks"),
        ("é", "no blanks"),
        ("a" * 5000, "longer than"),
        ("x\r\nImpersonate-User: admin", "no blanks"),
    ],
)
async def test_a_token_that_opens_nothing_is_explained(browser: Browser, token: str, said: str) -> None:
    answer = await browser.log_in(token)
    assert answer.status == 401
    assert said in answer.text
    assert token[:20] not in answer.text or not token
    assert (await browser.get("/")).status == 303


async def test_attempts_of_one_address_are_limited(browser: Browser, tokens: Tokens) -> None:
    answers = [await browser.log_in("wrong") for _ in range(12)]
    assert "too many attempts" in answers[-1].text
    assert "too many attempts" in (await browser.log_in(tokens.anna)).text


async def test_the_login_form_of_another_page_is_refused(browser: Browser, tokens: Tokens) -> None:
    """Nobody is logged in as somebody else."""
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        assert (await browser.post("/login", {"token": tokens.ben}, headers, page="/login")).status == 403
    assert (await browser.post("/login", {"token": tokens.ben, "csrf": "0" * 64})).status == 403
    assert not [name for name in browser.cookies if not name.endswith("-login")]


async def test_a_changed_or_copied_cookie_opens_nothing(browser: Browser, cluster: Cluster, tokens: Tokens) -> None:
    await browser.log_in(tokens.anna)
    name = f"olm-console-{browser.console.port}"
    whole = browser.cookies[name]
    for changed in (whole[:-2], "A" + whole[1:], whole[:40], "", "é", whole + "AAAA", whole[::-1]):
        browser.cookies[name] = changed
        assert (await browser.get("/")).status == 303
    browser.cookies.clear()
    browser.cookies[f"{name}-flash"] = whole
    assert (await browser.get("/")).status == 303
    async with running_console(str(cluster.kubeconfig), **HOME, key=b"another key of thirty-two bytes!") as other:
        other.cookies[f"olm-console-{other.console.port}"] = whole
        assert (await other.get("/")).status == 303


async def test_after_the_logout_the_cookie_opens_nothing(browser: Browser, tokens: Tokens) -> None:
    await browser.log_in(tokens.anna)
    kept = dict(browser.cookies)
    answer = await browser.post("/logout", {}, page="/")
    assert (answer.status, answer.headers["Location"]) == (303, "/login")
    assert not [name for name in browser.cookies if not name.endswith("-login")]
    browser.cookies.update(kept)
    assert (await browser.get("/")).status == 303


async def test_a_token_that_the_api_server_no_longer_accepts_leads_to_the_login(browser: Browser) -> None:
    response = web.Response()
    browser.console.logins.keep(response, Ticket("id", "anna", int(time.time()) + 600, "a-token-that-has-ended"))
    browser.cookies.update({name: cookie.value for name, cookie in response.cookies.items() if cookie.value})
    answer = await browser.get("/suite?ns=a")
    assert (answer.status, answer.headers["Location"]) == (303, "/login?back=%2Fsuite%3Fns%3Da")
    assert f"olm-console-{browser.console.port}" not in browser.cookies


async def test_a_restart_with_the_same_key_keeps_the_session(
    browser: Browser, cluster: Cluster, tokens: Tokens
) -> None:
    await browser.log_in(tokens.anna)
    value = browser.cookies[f"olm-console-{browser.console.port}"]
    async with running_console(str(cluster.kubeconfig), **HOME) as again:
        again.console.port = browser.console.port
        again.cookies[f"olm-console-{browser.console.port}"] = value
        answer = await again.send("GET", "/", headers={"Host": f"127.0.0.1:{browser.console.port}"})
    assert answer.status == 200
    assert "anna" in answer.text


async def test_each_request_has_the_token_of_its_own_user(cluster: Cluster, tokens: Tokens) -> None:
    async with running_console(str(cluster.kubeconfig), AuthMode.HEADER, **HOME) as browser:
        for token, name in ((tokens.anna, "anna"), (tokens.ben, "ben"), (tokens.anna, "anna")):
            answer = await browser.get("/", {"Authorization": f"Bearer {token}"})
            assert name in answer.text
        sessions = browser.console.users._sessions.values()
        for each in sessions:
            each.expires = 0.0
        await browser.get("/", {"Authorization": f"Bearer {tokens.anna}"})
        assert sum(each.expires > 0 for each in sessions) == 1, "a session lasts as long as the proxy sends its token"


@pytest.mark.parametrize("header", ["", "Bearer wrong", "Bearer ", "Basic YTpi", "Bearer a b", "Bearer \xff"])
async def test_a_proxy_without_a_token_gives_no_session(cluster: Cluster, header: str) -> None:
    async with running_console(str(cluster.kubeconfig), AuthMode.HEADER, **HOME) as browser:
        answer = await browser.get("/", {"Authorization": header} if header else {})
        assert answer.status == 303


async def test_a_link_of_the_command_opens_one_session(cluster: Cluster, tokens: Tokens) -> None:
    async with running_console(str(cluster.kubeconfig), AuthMode.KUBECONFIG, **HOME) as browser:
        assert (await browser.get("/")).status == 200
        browser.cookies.clear()
        link = browser.console.logins.links.make()
        assert (await browser.get(f"/login/{link[:-1]}x")).status == 401
        assert (await browser.get(f"/login/{link}")).headers["Location"] == "/"
        browser.cookies.clear()
        assert (await browser.get(f"/login/{link}")).status == 401
        assert (await browser.get("/")).status == 303
        assert (await browser.log_in(tokens.anna)).status == 403  # no tokens are pasted there
