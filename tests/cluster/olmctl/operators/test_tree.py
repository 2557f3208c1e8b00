"""`olm tree` against a real API server, without controllers."""

from __future__ import annotations

import json

import pytest

from olmkit.api.bundledeployments import OWNER_UID_LABEL
from tests.cluster.olmctl.conftest import NO_CONTROLLER, NO_SUITE, OPERATORS, Desk, condition

CRD = "CustomResourceDefinition.apiextensions.k8s.io"
READY = [condition("Ready", "True", "Succeeded", "all is well")]


def names(printed: str) -> list[str]:
    """The first column of a tree, without its heading."""
    return [line.split("   Ready")[0].split("   Missing")[0].rstrip() for line in printed.splitlines()[1:]]


def test_dependencies_of_dependencies_are_below_them_and_a_cycle_ends(desk: Desk) -> None:
    operators = {each: desk.operator(each) for each in "abcd"}
    for each, required in (("a", "bc"), ("b", "c"), ("c", "d"), ("d", "b")):
        listed = desk.requiring(*(operators[one] for one in required))
        shown = {"conditions": READY, "dependencies": listed}
        desk.set_status(OPERATORS, operators[each], shown)
    status, out, err = desk.olm("tree", operators["a"], NO_SUITE)
    prefix = desk.prefix
    assert (status, err) == (0, NO_CONTROLLER)
    assert names(out) == [
        f"Operator/{prefix}-a",
        f"├── Operator/{prefix}-b",
        f"│   └── Operator/{prefix}-c",
        f"│       └── Operator/{prefix}-d",
        f"│           └── Operator/{prefix}-b",
        f"└── Operator/{prefix}-c",
    ]
    assert sum(line.endswith("its tree is shown once") for line in out.splitlines()) == 2
    tree = json.loads(desk.olm("tree", operators["a"], "-o", "json")[1])
    assert [each["name"] for each in tree["children"]] == [operators["b"], operators["c"]]


def test_a_required_package_without_an_operator_is_missing(desk: Desk) -> None:
    required = desk.requiring("b")[0]
    del required["operator"]
    name = desk.operator("a", {"conditions": READY, "dependencies": [{**required, "installed": False}]})
    line = desk.olm("tree", name)[1].splitlines()[-1]
    assert line.split(maxsplit=3) == ["└──", "Package/b", "Missing", "no Operator installs it yet: it requires b"]


def test_a_long_chain_is_cut(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("olmctl.questions.tree.MAX_DEPTH", 2)
    chain = [desk.operator(f"n{number}") for number in range(5)]
    for name, following in zip(chain, [*chain[1:], None], strict=True):
        listed = desk.requiring(following) if following else []
        desk.set_status(OPERATORS, name, {"conditions": READY, "dependencies": listed})
    lines = desk.olm("tree", chain[0])[1].splitlines()
    assert lines[-1].endswith(f"{chain[3]}   Ready   more than 2 Operators above it: olm tree {chain[3]}")


def test_the_objects_of_the_bundle(desk: Desk) -> None:
    name = desk.operator("a", {"conditions": READY})
    uid = desk.bundle_deployment(name, CRD)
    crd = desk.definition(uid, "things")
    desk.cluster.kubectl(
        "label",
        "crd",
        desk.definition(desk.bundle_deployment(desk.operator("b")), "copies"),
        f"{OWNER_UID_LABEL}={uid}",
        "--overwrite",
    )
    out = desk.olm("tree", name)[1]
    assert names(out)[0] == f"Operator/{name}"
    assert out.splitlines()[2].split()[:2] == ["└──", f"BundleDeployment/{name}"]
    assert out.splitlines()[3].split()[:3] == ["└──", f"CustomResourceDefinition/{crd}", "Healthy"]
    assert len(out.splitlines()) == 4, "one that only has the label is of others"


def test_objects_that_the_cluster_has_no_kind_for_are_left_out(desk: Desk) -> None:
    name = desk.operator("a", {"conditions": READY})
    desk.bundle_deployment(name)
    reference = {"group": "monitoring.coreos.com", "kind": "ServiceMonitor", "namespace": "n", "name": "metrics"}
    desk.set_status("bundledeployments.core.rukpak.io", name, {"conditions": READY, "leftOut": [reference]})
    line = desk.olm("tree", name)[1].splitlines()[-1]
    text = "not applied: the cluster does not have its kind"
    assert line.split(maxsplit=3) == ["└──", "ServiceMonitor/n/metrics", "LeftOut", text]
