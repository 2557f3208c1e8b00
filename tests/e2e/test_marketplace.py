"""The story of the operator marketplace: a few packages of an external catalog, whose registry requires a login.

In its words, an OperatorSource names the external registry, and a CatalogSourceConfig lists the packages, comma-separated; here
both are one Catalog with `pullSecret` and `packages`.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content, Registry
from devcluster.suite import NAMESPACE, Suite
from devcluster.watch import PACKAGES, Object, is_true
from tests.conditions import triple
from tests.e2e.partner import HOST, Partner, login
from tests.e2e.stage import Stage, installed_version

PACKAGES_OFFERED = ("hello-operator", "message-board", "notebook-operator")
_ANSWER_SECONDS = 30


def listed(suite: Suite, catalog: str, path: str) -> list[str]:
    """The packages that catalogd lists."""
    url = f"https://{suite.addresses['catalogd'].catalogs}/catalogs/{catalog}/api/v1/{path}"
    with urllib.request.urlopen(url, timeout=_ANSWER_SECONDS, context=suite.tls_context()) as answer:
        if path == "packages":
            return [each["name"] for each in json.load(answer)["packages"]]
        return [json.loads(line)["package"] for line in answer]


async def test_packages_of_an_external_catalog_are_chosen_and_what_is_installed_stays(
    stage: Stage, partner: Partner
) -> None:
    cluster = stage.cluster
    content = Content(SAMPLES / "catalog", SAMPLES / "bundles")
    pushed = stage.publish(content, PACKAGES_OFFERED, without=["hello-operator.v0.3.0"])
    reference = f"{HOST}/{pushed.reference.partition('/')[2]}"
    name = stage.name[:30].strip("-")
    image = {"ref": reference, "pullSecret": name, "pollInterval": "1s"}
    spec = {
        "source": {"type": "image", "image": image},
        "displayName": "Partner operators",
        "publisher": "Example",
        "packages": ["hello-operator", "no-such-package"],
    }
    stage.apply(
        {
            "apiVersion": "catalogd.operatorframework.io/v1alpha1",
            "kind": "Catalog",
            "metadata": {"name": name},
            "spec": spec,
        }
    )
    waiting = stage.catalog_when(name, "waits for its login", lambda o: is_true(o, "Stalled"))
    assert f'Secret "{name}" not found' in triple(waiting, "Stalled")[2]
    cluster.kubectl("apply", "-f", "-", input=json.dumps(login(partner, name)))
    try:
        _follow(stage, content, name)
    finally:
        cluster.kubectl("delete", "secret", name, "-n", NAMESPACE)


def _follow(stage: Stage, content: Content, name: str) -> None:
    first = stage.catalog_when(name, "is read with the login", lambda o: is_true(o, "Ready"))
    status = first["status"]
    assert (status["packages"], status["selectedPackages"]) == (",".join(PACKAGES_OFFERED), "hello-operator")
    assert triple(first, "PackagesSelected") == (
        "False",
        "PackagesNotFound",
        "spec.packages names 2 packages, of which the catalog lacks 1: no-such-package; they are offered as soon as its content"
        " has them",
    )
    _until_listed(stage, name, ["hello-operator"])
    hello = stage.operator("hello-operator", f"{name}-a", channel="candidate", catalogSelector=_only(name))
    board = stage.operator("message-board", f"{name}-b", catalogSelector=_only(name))
    stage.ready_operator(hello, "0.2.0")
    refused = stage.operator_when(board, "is refused", lambda o: is_true(o, "Stalled"))
    text = f'catalog "{name}" has it, but its spec.packages does not name it: add it there'
    assert text in triple(refused, "Stalled")[2]

    stage.patch_catalog(name, {"packages": ["hello-operator", "message-board"]})
    _until_listed(stage, name, ["hello-operator", "message-board"])
    added = stage.operator_when(board, "is installed from the longer list", lambda o: installed_version(o) is not None)
    assert triple(stage.get("Catalog", name), "PackagesSelected")[0] == "True"

    stage.patch_catalog(name, {"packages": ["message-board"]})
    stage.publish(content, PACKAGES_OFFERED)  # hello-operator 0.3.0
    _until_listed(stage, name, ["message-board"])
    why = f'0.2.0 is kept: catalog "{name}" does not offer the package any more: its spec.packages does not name it'
    kept = stage.operator_when(hello, "says why it stays", lambda o: why in json.dumps(o["status"]).replace('\\"', '"'))
    assert (is_true(kept, "Ready"), installed_version(kept)) == (True, "0.2.0")
    moved = stage.catalog_when(name, "serves the new content", lambda o: o["status"]["contentDigest"] != _digest(first))
    assert moved["status"]["packages"] == ",".join(PACKAGES_OFFERED)
    assert installed_version(stage.get("Operator", board)) == installed_version(added)

    stage.cluster.kubectl(
        "patch", "catalogs", name, "--type=json", "-p", '[{"op": "remove", "path": "/spec/packages"}]'
    )
    _until_listed(stage, name, [*PACKAGES_OFFERED])
    stage.ready_operator(hello, "0.3.0")
    assert _digest(stage.get("Catalog", name)) == _digest(moved)
    assert "selectedPackages" not in stage.get("Catalog", name)["status"]


def _digest(catalog: Object) -> str:
    return str(catalog["status"]["contentDigest"])


def _only(catalog: str) -> Object:
    return {"matchLabels": {"olm.operatorframework.io/metadata.name": catalog}}


def _until_listed(stage: Stage, catalog: str, expected: list[str], every: Sequence[str] = PACKAGES_OFFERED) -> None:
    """The Package objects, and what catalogd lists once the status names it."""
    stage.until(
        PACKAGES,
        f"the Packages are {expected}",
        lambda objects: (
            sorted(
                each["spec"]["packageName"] for each in objects.values() if each["spec"]["catalog"]["name"] == catalog
            )
            == expected
        ),
    )
    stage.catalog_when(catalog, "is done", lambda o: is_true(o, "Ready") and not is_true(o, "Reconciling"))
    assert listed(stage.suite, catalog, "packages") == expected
    assert listed(stage.suite, catalog, "resolution") == expected
    assert listed(stage.suite, catalog, "resolution?all=true") == [*every]


def test_a_dependency_that_the_list_does_not_name_is_named_with_its_catalog(stage: Stage) -> None:
    content = Content(SAMPLES / "catalog", SAMPLES / "bundles")
    name = stage.catalog(stage.publish(content, ["hello-operator", "party-operator"]).reference)
    stage.patch_catalog(name, {"packages": ["party-operator"]})
    stage.catalog_when(name, "selects one package", lambda o: o["status"].get("selectedPackages") == "party-operator")
    party = stage.operator("party-operator", name[:40], catalogSelector=_only(name))
    stage.also_delete("Operator", "hello-operator")
    refused = stage.operator_when(party, "is refused", lambda o: is_true(o, "Stalled"))
    why = f'which catalog "{name}" has, but its spec.packages does not name hello-operator: add it there'
    assert why in triple(refused, "Resolved")[2]
    assert why in triple(refused, "Ready")[2]
    stage.patch_catalog(name, {"packages": ["party-operator", "hello-operator"]})
    stage.operator_when(party, "is installed with its dependency", lambda o: is_true(o, "Ready"))

    stage.patch_catalog(name, {"packages": ["party-operator"]})
    _until_listed(stage, name, ["party-operator"], ["hello-operator", "party-operator"])
    kept = stage.get("Operator", party)
    assert (is_true(kept, "Ready"), installed_version(kept)) == (True, "1.0.0")
    assert is_true(stage.get("Operator", "hello-operator"), "Ready")


def test_lists_that_mean_nothing_are_refused(stage: Stage) -> None:
    for packages, message in (
        ([], "should have at least 1 items"),
        (["a", "a"], "Duplicate value"),
        (["descheduler,jaeger"], "should match"),
        ("descheduler,jaeger", "must be of type array"),
    ):
        spec = {"source": {"type": "image", "image": {"ref": f"{HOST}/c:v1"}}, "packages": packages}
        body = {"apiVersion": "catalogd.operatorframework.io/v1alpha1", "kind": "Catalog", "spec": spec}
        object_ = {**body, "metadata": {"name": stage.name[:40]}}
        with pytest.raises(Exception, match=message):
            stage.cluster.kubectl("create", "--validate=false", "-f", "-", input=json.dumps(object_))


def test_the_registry_requires_the_login(partner: Partner) -> None:
    with pytest.raises(Exception, match="401"):
        Registry(partner.address).push("catalogs/any", "v1", {"a": b""}, {})
