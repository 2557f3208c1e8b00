"""The pages about Operators at the real API server: what they show, to whom, and where something is missing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from tests.cluster.console.pages.conftest import GROUP, KIND, Object, logged_in, words
from tests.console import Browser, state_in

OPERATORS = "operators.operators.operatorframework.io"
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Succeeded",
    "message": "installed",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
WAITING = {
    "installed": {
        "name": "waiting.v1.0.0",
        "version": "1.0.0",
        "catalog": "nowhere",
        "channel": "stable",
        "apis": [{"group": GROUP, "version": "v1", "kind": KIND, "displayName": "Data base"}],
    },
    "available": {
        "version": "2.0.0",
        "bundle": "waiting.v2.0.0",
        "image": "registry.example/waiting:2",
        "catalog": "nowhere",
        "channel": "stable",
        "reason": "ApprovalRequired",
        "message": "it waits for approval",
    },
    "resolution": "2.0.0 is the best of 2 versions",
    "conditions": [{**READY, "reason": "UpgradeAvailable", "message": "2.0.0 waits for approval"}],
}
BROKEN = {
    "installed": {"name": "broken.v1.0.0", "version": "1.0.0"},
    "conditions": [{**READY, "status": "False", "reason": "Unhealthy", "message": "<b>0 of 1</b> replicas"}],
}


def _operator(cluster: Cluster, name: str, spec: Object, status: Object) -> None:
    body = {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": name},
        "spec": {"packageName": name, **spec},
    }
    cluster.kubectl("apply", "-f", "-", input=json.dumps(body))
    patch = json.dumps({"status": {"observedGeneration": 1, **status}})
    cluster.kubectl("patch", OPERATORS, name, "--subresource=status", "--type=merge", "-p", patch)


@pytest.fixture
def operators(kind: Cluster) -> Iterator[Cluster]:
    """One Operator that waits, available everywhere, and one that is broken, in a namespace."""
    _operator(kind, "waiting", {"approval": "Manual"}, WAITING)
    _operator(kind, "broken", {"install": {"watchNamespaces": ["forms"]}}, BROKEN)
    yield kind
    kind.kubectl("delete", OPERATORS, "waiting", "broken")


async def test_the_list_shows_states_and_where_each_is_available(operators: Cluster, admin: Browser) -> None:
    page = await admin.get("/operators")

    shown = words(page)
    assert page.status == 200
    assert "2 Operators in all namespaces. 1 needs attention." in shown
    assert "<b>0 of 1</b> replicas" in shown
    assert "All namespaces" in shown
    assert 'href="/operators/waiting/upgrade?version=2.0.0"' in page.text
    assert "Data base" in shown


@pytest.mark.parametrize(
    ("path", "status", "there", "absent"),
    [
        pytest.param("/operators?state=attention", 200, "broken", "waiting", id="what needs attention"),
        pytest.param("/operators?state=upgrade", 200, "waiting", "0 of 1", id="what waits"),
        pytest.param(
            "/operators?ns=elsewhere", 200, "waiting", "0 of 1", id="a namespace that one is not available in"
        ),
        pytest.param("/operators?ns=forms", 200, "broken", "none of", id="a namespace that both are available in"),
        pytest.param(
            "/operators?q=nothing-like-it", 200, "No Operator matches.", "0 of 1", id="words that nothing has"
        ),
        pytest.param("/operators?state=odd", 400, "state: odd is none of", "waiting", id="a state that is none"),
        pytest.param("/operators?page=x", 400, "page: x is no number", "waiting", id="a page that is none"),
        pytest.param("/operators?unknown=1", 200, "waiting", "none of", id="a parameter that is unknown"),
    ],
)
async def test_the_url_selects(
    operators: Cluster, admin: Browser, path: str, status: int, there: str, absent: str
) -> None:
    page = await admin.get(path)

    assert page.status == status
    assert there in words(page)
    assert absent not in words(page)


@pytest.mark.parametrize(
    ("tab", "expected"),
    [
        pytest.param("", "Ready Upgrade waits 1.0.0 from catalog nowhere", id="overview"),
        pytest.param("/events", "There are no Events", id="events"),
        pytest.param("/objects", "Operator waiting", id="objects"),
        pytest.param("/graph", "waiting", id="graph"),
        pytest.param("/why", "2.0.0 is the best of 2 versions", id="why"),
        pytest.param(
            "/why?trace=1", "The last resolution cannot be read", id="why with the trace of a controller that is away"
        ),
        pytest.param("/instances", "Data base", id="instances"),
        pytest.param("/yaml", "packageName: waiting", id="yaml"),
    ],
)
async def test_an_operator_has_its_pages(operators: Cluster, admin: Browser, tab: str, expected: str) -> None:
    page = await admin.get(f"/operators/waiting{tab}")

    assert page.status == 200
    assert expected in words(page)
    assert "managedFields" not in page.text


async def test_buttons_follow_the_rights_of_the_user(operators: Cluster, admin: Browser) -> None:
    viewer = await logged_in(admin, operators, "viewer")
    seen = await viewer.get("/operators/waiting")

    assert seen.status == 200
    assert seen.text.count('aria-disabled="true"') == 6
    assert f"You may not patch {OPERATORS} waiting" in words(seen)
    assert "olm approve waiting" in words(seen)
    assert "aria-disabled" not in (await admin.get("/operators/waiting")).text


async def test_who_may_read_nothing_is_told_what_is_refused(operators: Cluster, admin: Browser) -> None:
    nobody = await logged_in(admin, operators, "nobody")

    for path in ("/operators", "/operators/waiting", "/catalog", "/catalogs"):
        page = await nobody.get(path)
        assert page.status == 403
        assert "kubectl auth can-i" in words(page)
        assert "2.0.0" not in page.text


async def test_an_unknown_operator_names_similar_ones(operators: Cluster, admin: Browser) -> None:
    page = await admin.get("/operators/wating")

    assert page.status == 404
    assert "There is no Operator wating." in words(page)
    assert 'href="/operators/waiting"' in page.text


async def test_without_operators_the_page_leads_to_the_catalog(kind: Cluster, admin: Browser) -> None:
    page = await admin.get("/operators")

    assert "No Operators found." in words(page)
    assert 'href="/catalog"' in page.text


async def test_the_suite_names_what_is_missing(kind: Cluster, admin: Browser) -> None:
    page = await admin.get("/suite")

    assert page.status == 200
    assert "operators.operators.operatorframework.io Established" in words(page)


async def test_an_event_of_an_operator_reaches_its_open_page(operators: Cluster, admin: Browser) -> None:
    path = "/operators/broken/events"
    page = await admin.get(path)
    uid = operators.kubectl("get", OPERATORS, "broken", "-o", "jsonpath={.metadata.uid}")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "broken.1", "namespace": "default"},
        "involvedObject": {"kind": "Operator", "name": "broken", "uid": uid},
        "reason": "Unhealthy",
        "message": "its pods <b>fell</b> over",
        "type": "Warning",
    }
    async with admin.live(path, state_in(page.text)) as messages, asyncio.timeout(20):
        assert (await anext(messages))[0] == "hello"
        operators.api.request("POST", "/api/v1/namespaces/default/events", event)
        name, data = await anext(messages)
    operators.kubectl("delete", "event", "broken.1", "-n", "default")
    assert (name, [each["id"] for each in data["parts"]]) == ("parts", ["events"])
    assert "its pods &lt;b&gt;fell&lt;/b&gt; over" in data["parts"][0]["html"]


async def test_the_review_of_an_upgrade_follows_what_waits(operators: Cluster, admin: Browser) -> None:
    path = "/operators/waiting/upgrade"
    page = await admin.get(path)
    assert 'http-equiv="refresh"' not in page.text
    patch = json.dumps({"status": {"available": {"version": "3.0.0", "message": "3.0.0 waits"}}})
    async with admin.live(path, state_in(page.text)) as messages, asyncio.timeout(30):
        assert (await anext(messages))[0] == "hello"
        operators.kubectl("patch", OPERATORS, "waiting", "--subresource=status", "--type=merge", "-p", patch)
        name, data = await anext(messages)
    assert name == "parts"
    assert "Approve 3.0.0" in str(data["parts"])
