"""Real tokens at the real API server: who somebody is, and what they may do, is what it says."""

from __future__ import annotations

import pytest

from console.access import Ask
from console.page import Answer, Page, PageRequest
from console.routes import Route
from devcluster.cluster import Cluster
from olmkit.api.meta import Kind
from tests.cluster.console.conftest import Accounts
from tests.cluster.olmkit.conftest import CONFIG_MAP
from tests.console import running_console

SECRETS = Kind("", "v1", "Secret", "secrets", namespaced=True)
TEMPLATES = {"may.html": '{% extends "base.html" %}{% block main %}{{ value }}{% endblock %}'}


async def show_access(request: PageRequest) -> Answer:
    """The verdicts about three questions, and the names of what may be read."""
    namespace = request.namespace
    verdicts = await request.access.each(
        Ask("delete", SECRETS), Ask("create", CONFIG_MAP, namespace), Ask("list", CONFIG_MAP, namespace)
    )
    return Page("may.html", " ".join(f"{each.allowed}: {each.reason}" for each in verdicts), "May")


async def show_config_maps(request: PageRequest) -> Answer:
    """The names of the ConfigMaps of the namespace."""
    found, _ = await request.session.client.list(CONFIG_MAP, request.namespace)
    return Page("may.html", " ".join(each["metadata"]["name"] for each in found), "ConfigMaps")


ROUTES = (Route("GET", "/may", show_access), Route("GET", "/maps", show_config_maps))


@pytest.mark.parametrize(
    ("account", "said"),
    [
        ("admin", "True:  True:  True:"),
        ("team", "False: You may not delete secrets. True:  True:"),
        (
            "nobody",
            "False: You may not delete secrets. False: You may not create configmaps in namespace {0}. "
            "False: You may not list configmaps in namespace {0}.",
        ),
    ],
)
async def test_a_user_sees_and_does_what_rbac_lets_them(
    cluster: Cluster, accounts: Accounts, account: str, said: str
) -> None:
    async with running_console(str(cluster.kubeconfig), routes=ROUTES, templates=TEMPLATES) as browser:
        assert (await browser.log_in(getattr(accounts, account))).status == 303
        answer = await browser.get(f"/may?ns={accounts.namespace}")
        assert answer.text.count(f"system:serviceaccount:{accounts.namespace}:{account}")
        assert said.format(accounts.namespace) in answer.text
        maps = await browser.get(f"/maps?ns={accounts.namespace}")
        everywhere = await browser.get("/maps")
    assert maps.status == (403 if account == "nobody" else 200)
    assert ("kube-root-ca.crt" in maps.text) is (account != "nobody")
    assert everywhere.status == (200 if account == "admin" else 403)
    if account != "admin":
        assert "kubectl auth can-i list configmaps" in everywhere.text


async def test_the_identity_of_the_kubeconfig_does_not_come_before_the_token(
    cluster: Cluster, accounts: Accounts
) -> None:
    """The kubeconfig of the cluster has a client certificate of an administrator, which the API server would prefer."""
    async with running_console(str(cluster.kubeconfig), routes=ROUTES, templates=TEMPLATES) as browser:
        await browser.log_in(accounts.nobody)
        assert (await browser.get("/maps")).status == 403
        browser.cookies.clear()
        assert "does not accept the token" in (await browser.log_in(accounts.admin[:-4] + "AAAA")).text
