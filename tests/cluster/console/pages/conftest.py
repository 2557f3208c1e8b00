"""A kind with instances, a console, and users with different rights."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from tests.cluster.conftest import read_kind
from tests.console import Answer, Browser, running_console

Object = dict[str, Any]
GROUP, PLURAL, KIND = "forms.example.com", "databases", "Database"
LIST = f"/instances/{GROUP}/v1/{PLURAL}"
TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "mode": {"type": "string", "enum": ["Single", "Cluster"]},
                "secret": TEXT,
                "note": TEXT,
                "tags": {"type": "array", "items": TEXT},
                "parent": TEXT,
            },
            "x-kubernetes-validations": [
                {"rule": "self.size != 7", "message": "size 7 is unlucky", "fieldPath": ".size"}
            ],
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
USERS = {
    "viewer": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}],
    "developer": [
        {"apiGroups": ["operators.operatorframework.io"], "resources": ["operators"], "verbs": ["get", "list"]}
    ],
    "nobody": [],
}
"""The rights of users everywhere. A developer may do everything with the kind in namespace forms."""


def definition() -> Object:
    versions = [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": SCHEMA},
            "subresources": {"status": {}},
        }
    ]
    names = {"plural": PLURAL, "singular": "database", "kind": KIND, "listKind": f"{KIND}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    }


@pytest.fixture(scope="package")
def kind(definitions: Cluster) -> Iterator[Cluster]:
    """The cluster with a kind, the namespace forms, and the users."""
    cluster = definitions
    cluster.kubectl("create", "namespace", "forms")
    cluster.kubectl("apply", "-f", "-", input=json.dumps(definition()))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{PLURAL}.{GROUP}")
    read_kind(cluster, f"/apis/{GROUP}/v1/{PLURAL}")
    for user, rules in USERS.items():
        _allow(cluster, user, rules)
    _allow(cluster, "admin", [])
    cluster.kubectl(
        "create", "clusterrolebinding", "forms-all", "--clusterrole=cluster-admin", "--serviceaccount=forms:admin"
    )
    yield cluster
    cluster.kubectl("delete", "clusterrolebinding", "forms-all")
    cluster.kubectl("delete", "crd", f"{PLURAL}.{GROUP}")
    cluster.kubectl("delete", "namespace", "forms", "--wait=false")
    for user in (*USERS, "admin"):
        cluster.kubectl("delete", "clusterrole,clusterrolebinding", f"forms-{user}", "--ignore-not-found")


def _allow(cluster: Cluster, user: str, rules: list[Object]) -> None:
    account = f"--serviceaccount=forms:{user}"
    cluster.kubectl("create", "serviceaccount", user, "-n", "forms")
    role: Object = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    body = {**role, "metadata": {"name": f"forms-{user}"}, "rules": rules}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(body))
    cluster.kubectl("create", "clusterrolebinding", f"forms-{user}", f"--clusterrole=forms-{user}", account)
    if user == "developer":
        cluster.kubectl("create", "role", user, "-n", "forms", "--verb=*", f"--resource={PLURAL}.{GROUP}")
        cluster.kubectl("create", "rolebinding", user, "-n", "forms", f"--role={user}", account)


@pytest.fixture
async def admin(kind: Cluster) -> AsyncIterator[Browser]:
    """A browser of somebody who may do everything."""
    async with running_console(str(kind.kubeconfig)) as browser:
        await browser.log_in(await token(kind, "admin"))
        yield browser


_tokens: dict[tuple[str, str], str] = {}
"""The tokens by kubeconfig and user: each costs a process."""


async def token(cluster: Cluster, user: str) -> str:
    """The token of a user."""
    key = (str(cluster.kubeconfig), user)
    if key not in _tokens:
        made = await asyncio.to_thread(cluster.kubectl, "create", "token", user, "-n", "forms", "--duration=2h")
        _tokens[key] = made.strip()
    return _tokens[key]


async def logged_in(browser: Browser, cluster: Cluster, user: str) -> Browser:
    """Another browser at the same console, of another user."""
    other = Browser(browser.http, browser.origin, browser.console)
    await other.log_in(await token(cluster, user))
    return other


def fields(page: Answer) -> dict[str, str]:
    """What a browser sends of the first form of the content that nobody has changed: the names and values of its inputs."""
    text = page.text.partition("data-form>")[2] or page.text.partition("<main")[2]
    found: dict[str, str] = {}
    for match in re.finditer(
        r"<(input|textarea|select)\b([^>]*)>(?:\n?([^<]*)</textarea>)?", text.partition("</form>")[0]
    ):
        attributes = dict(re.findall(r'([a-z-]+)="([^"]*)"', match[2]))
        is_off = attributes.get("type") in ("checkbox", "radio") and "checked" not in match[2]
        if "name" not in attributes or is_off or match[1] == "select":
            continue
        found[html.unescape(attributes["name"])] = html.unescape(
            match[3] if match[1] == "textarea" else attributes.get("value", "on")
        )
    for select in re.finditer(
        r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', text.partition("</form>")[0], re.DOTALL
    ):
        chosen = re.search(r'<option value="([^"]*)" selected', select[2])
        first = re.search(r'<option value="([^"]*)"', select[2])
        found[html.unescape(select[1])] = html.unescape((chosen or first or ["", ""])[1])
    return found


def words(page: Answer) -> str:
    """The text of the content of a page."""
    content = page.text.partition("<main")[2].partition("</main>")[0]
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", content).split()))
