"""Certificates that controllers replace with the permissions of their own ServiceAccounts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import NAMESPACE, Suite
from olmkit.runtime.flags import Settings
from olmkit.tls.service import CA_KEY, CATALOG_SERVICE, OPERATOR_SERVICE, RUKPAK_SERVICE
from tests.cluster.devcluster.test_cluster import eventually

CONTROLLERS = {"catalogd": CATALOG_SERVICE, "operator-controller": OPERATOR_SERVICE, "rukpak": RUKPAK_SERVICE}
SPOILT = "c3BvaWx0"


@pytest.fixture(scope="module")
def suite(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    """The controllers with their certificates."""
    with Suite(cluster, tmp_path_factory.mktemp("suite")) as running:
        running.install()
        running.start(*CONTROLLERS)
        yield running


@pytest.mark.parametrize("immutable", [False, True], ids=["updated", "created again, because they are immutable"])
def test_spoilt_certificates_are_replaced(cluster: Cluster, suite: Suite, *, immutable: bool) -> None:
    suite.stop()
    for service in CONTROLLERS.values():
        spoil(cluster, "secret", service.secret, Settings.keys_namespace, {"tls.crt": SPOILT}, immutable=immutable)
        spoil(cluster, "configmap", service.config_map, NAMESPACE, {CA_KEY: SPOILT}, immutable=immutable)
    suite.start(*CONTROLLERS)
    for service in CONTROLLERS.values():
        secret = ("secret", service.secret, f"--namespace={Settings.keys_namespace}", "--output=json")
        eventually(lambda secret=secret: replaced(cluster.kubectl("get", *secret)))  # type: ignore[misc]
        published = ("configmap", service.config_map, f"--namespace={NAMESPACE}", "--output=json")
        eventually(lambda published=published: replaced(cluster.kubectl("get", *published)))  # type: ignore[misc]


def spoil(cluster: Cluster, kind: str, name: str, namespace: str, data: dict[str, str], *, immutable: bool) -> None:
    """Replace a part of the data."""
    change = {"data": data, **({"immutable": True} if immutable else {})}
    cluster.kubectl("patch", kind, name, f"--namespace={namespace}", "--type=merge", f"--patch={json.dumps(change)}")


def replaced(text: str) -> bool:
    found = json.loads(text)
    return SPOILT not in found["data"].values() and "immutable" not in found
