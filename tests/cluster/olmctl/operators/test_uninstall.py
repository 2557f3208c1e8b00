"""`olm uninstall` against a real API server, without controllers: an Operator without a finalizer is deleted at once."""

from __future__ import annotations

import json

import pytest

from olmkit.api.bundledeployments import MEMBER_LABEL_PREFIX, OWNER_UID_LABEL
from olmkit.api.operators import FINALIZER
from olmkit.api.ownership import manager_name
from tests.cluster.conftest import read_kind
from tests.cluster.olmctl.conftest import NO_SUITE, OPERATORS, Desk, Object, condition

CRD = "CustomResourceDefinition.apiextensions.k8s.io"
RESOURCE = "operator.operators.operatorframework.io"
DEPLOYMENT = "bundledeployment.core.rukpak.io"


def runs(*required: Object) -> Object:
    installed = {"name": "a.v1", "version": "1.0.0", "catalog": "c", "channel": "stable"}
    resolved = condition("Resolved", "True", "Success", "resolved")
    return {"installed": installed, "dependencies": list(required), "conditions": [resolved]}


def exists(desk: Desk, name: str) -> bool:
    return bool(desk.cluster.kubectl("get", OPERATORS, name, "--ignore-not-found", "-o", "name"))


def test_the_objects_and_the_custom_resources_are_named_before_it_is_confirmed(desk: Desk) -> None:
    name = desk.operator("a", runs())
    uid = desk.bundle_deployment(name, CRD)
    crds = [desk.definition(uid, "empties"), desk.definition(uid, "things")]
    desk.custom_resource("things", "sample", uid=uid)
    desk.custom_resource("things", "copy", labels={OWNER_UID_LABEL: uid})
    desk.custom_resource("things", "brought", uid=desk.bundle_deployment(desk.operator("b")))
    status, out, err = desk.olm("uninstall", name)
    lines = [
        f"Operator {name} (1.0.0 from catalog c, channel stable) will be deleted.",
        f"  CustomResourceDefinition {crds[0]}, which has no custom resources",
        f"  CustomResourceDefinition {crds[1]}, AND WITH IT 2 {crds[1]}",
    ]
    assert (status, out) == (5, "")
    assert err.splitlines() == [*lines, f"{name} is not deleted: confirm it with --yes"]
    assert exists(desk, name)
    assert desk.olm("uninstall", name, "--dry-run") == (0, "\n".join([*lines, ""]), "")
    status, out, err = desk.olm("uninstall", name, "--yes")
    assert (status, out, err.splitlines()) == (0, f"{RESOURCE}/{name} deletion requested\n", lines)
    assert not exists(desk, name)


def test_without_operator_controller_it_says_so_and_ends_in_time(desk: Desk) -> None:
    name = desk.operator("a", runs())
    desk.cluster.kubectl(
        "patch", OPERATORS, name, "--type=merge", "-p", json.dumps({"metadata": {"finalizers": [FINALIZER]}})
    )
    try:
        status, _, err = desk.olm("uninstall", name, "--yes", "--wait", "--timeout", "1s", NO_SUITE)
        problem = "operator-controller does not run, it has no Lease in namespace no-suite"
        late = f"{name}: not deleted within 1 seconds: waiting for operator-controller, but {problem}"
        assert (status, late in err.splitlines()) == (4, True), err
    finally:
        desk.cluster.kubectl("patch", OPERATORS, name, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')


def test_custom_resources_are_counted_in_the_version_that_they_are_stored_in(desk: Desk) -> None:
    name = desk.operator("a", runs())
    crd = desk.definition(desk.bundle_deployment(name, CRD), "things")
    desk.custom_resource("things", "one")
    service = {"namespace": "gone", "name": "gone"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}
    converted = {
        **{"name": "v1alpha1", "served": True, "storage": False},
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    spec = desk.get("crd", crd)["spec"]
    versions = [converted, *spec["versions"]]
    body = {"spec": {"versions": versions, "conversion": {"strategy": "Webhook", "webhook": webhook}}}
    desk.cluster.kubectl("patch", "crd", crd, "--type=merge", "-p", json.dumps(body))
    read_kind(desk.cluster, f"/apis/{spec['group']}/v1/things")
    line = f"  CustomResourceDefinition {crd}, AND WITH IT 1 {crd}"
    assert desk.olm("uninstall", name, "--dry-run")[1].splitlines()[1:] == [line]


def test_a_namespace_that_another_one_requires_is_not_said_to_be_deleted(desk: Desk) -> None:
    name = desk.operator("a", runs())
    uid, space = desk.bundle_deployment(name), f"{desk.prefix}-space"
    metadata = {"name": space, "labels": {f"{MEMBER_LABEL_PREFIX}{uid}": "true"}}
    desk.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, manager=manager_name(name))
    created = [{"name": space, "uid": desk.get("namespace", space)["metadata"]["uid"]}]
    desk.set_status(DEPLOYMENT, name, {"createdNamespaces": created})
    line = f"  Namespace {space}, and everything that is in it"
    assert line in desk.olm("uninstall", name, "--dry-run")[1].splitlines()
    other = desk.operator("b")
    desk.bundle_deployment(other)
    required = {"spec": {"installNamespace": space, "namespacePolicy": "MustExist"}}
    desk.cluster.kubectl("patch", DEPLOYMENT, other, "--type=merge", "-p", json.dumps(required))
    assert space not in desk.olm("uninstall", name, "--dry-run")[1]


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ("KeepCRDs", "  CustomResourceDefinition {crd} will stay, and with it 1 {crd}: deletionPolicy is KeepCRDs"),
        (
            "Orphan",
            "  Everything of it (1 object) will stay in the cluster, and will not be managed: deletionPolicy is Orphan",
        ),
    ],
)
def test_what_the_deletion_policy_keeps_is_named(desk: Desk, policy: str, line: str) -> None:
    name = desk.operator("a", runs())
    patch = f'{{"spec": {{"install": {{"deletionPolicy": "{policy}"}}}}}}'
    desk.cluster.kubectl("patch", OPERATORS, name, "--type=merge", "-p", patch)
    crd = desk.definition(desk.bundle_deployment(name, CRD), "things")
    desk.custom_resource("things", "one")
    _, out, _ = desk.olm("uninstall", name, "--dry-run")
    assert out.splitlines()[1:] == [line.format(crd=crd)]


def test_the_protection_of_an_operator_is_named_while_it_refuses_the_deletion(desk: Desk) -> None:
    name = desk.operator("a", runs())
    annotation = "operators.operatorframework.io/deletion-protection"
    desk.cluster.kubectl("annotate", OPERATORS, name, f"{annotation}=true")
    desk.definition(desk.bundle_deployment(name, CRD), "things")
    assert "protected" not in desk.olm("uninstall", name, "--dry-run")[1]
    desk.custom_resource("things", "one")
    line = (
        "It is protected: the deletion will be refused as long as there are custom resources. To remove the protection: "
        f"kubectl annotate {OPERATORS} {name} {annotation}-"
    )
    assert desk.olm("uninstall", name, "--dry-run")[1].splitlines()[2:] == [line]
    keeps = '{"spec": {"install": {"deletionPolicy": "KeepCRDs"}}}'
    desk.cluster.kubectl("patch", OPERATORS, name, "--type=merge", "-p", keeps)
    assert "protected" not in desk.olm("uninstall", name, "--dry-run")[1]


def test_dependencies_go_or_stay_and_the_preview_says_why(desk: Desk) -> None:
    others = {each: desk.operator(each, runs(), is_dependency=True) for each in ("gone", "shared", "used")}
    others["own"] = desk.operator("own", runs())
    label = "operators.operatorframework.io/installed-for="  # of a manifest that was copied
    desk.cluster.kubectl("label", OPERATORS, others["own"], label)
    uid = desk.bundle_deployment(others["used"], CRD)
    crd = desk.definition(uid, "things")
    desk.custom_resource("things", "one")
    empty = desk.definition(desk.bundle_deployment(others["gone"], CRD), "empties")
    name = desk.operator("a", runs(*desk.requiring(*others.values())))
    desk.custom_resource("empties", "brought", uid=desk.bundle_deployment(name))  # it is deleted before
    other = desk.operator("b", runs(*desk.requiring(others["shared"])))
    status, out, _ = desk.olm("uninstall", name, "--dry-run")
    runs_now = "(1.0.0 from catalog c, channel stable)"
    assert (status, out.splitlines()) == (
        0,
        [
            f"Operator {name} {runs_now} will be deleted.",
            f"Operator {others['gone']} {runs_now}, a dependency of it, will be deleted after it.",
            f"  CustomResourceDefinition {empty}, which has no custom resources",
            f"Operator {others['shared']} will stay: {other} requires it.",
            f"Operator {others['used']} will stay: it is in use, by 1 {crd}.",
            f"Operator {others['own']} will stay: it was not installed as a dependency.",
        ],
    )


def test_an_operator_whose_requirements_are_not_known_makes_it_uncertain(desk: Desk) -> None:
    gone = desk.operator("gone", runs(), is_dependency=True)
    name = desk.operator("a", runs(*desk.requiring(gone)))
    other = desk.operator("b", {**runs(), "conditions": [condition("Resolved", "False", "ResolutionFailed", "no")]})
    text = f"Not resolved at present: {other}. If what runs there requires a dependency, it will stay."
    assert desk.olm("uninstall", name, "--dry-run")[1].splitlines()[-1] == text
    status, out, _ = desk.olm("uninstall", name, "--yes", "--wait")
    assert (status, out) == (0, f"{RESOURCE}/{name} deleted\n")


def begin_deletion(desk: Desk, name: str) -> None:
    """Delete the Operator, which a finalizer keeps until the test ends."""
    desk.cluster.kubectl(
        "patch", OPERATORS, name, "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/test"]}}'
    )
    desk.cluster.kubectl("delete", OPERATORS, name, "--wait=false")


def end_deletion(desk: Desk, *names: str) -> None:
    for name in names:
        desk.cluster.kubectl("patch", OPERATORS, name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_what_others_require_says_what_that_means_for_its_deletion(desk: Desk) -> None:
    name = desk.operator("a", runs())
    running, leaving, waiting = (desk.operator(each, runs(*desk.requiring(name))) for each in ("b", "c", "d"))
    for each in (running, leaving):
        desk.bundle_deployment(each)
    begin_deletion(desk, leaving)
    try:
        assert desk.olm("uninstall", name, "--dry-run")[1].splitlines()[-3:] == [
            f"It is required by {running}: it will stay until these are deleted.",
            f"It is required by {leaving}, which are being deleted: it will be deleted after these.",
            f"It is required by {waiting}, which are not installed and do not keep it: it will be deleted, and then "
            "installed again.",
        ]
    finally:
        end_deletion(desk, leaving)


def test_a_dependency_that_is_being_deleted_goes_with_its_custom_resources(desk: Desk) -> None:
    used, held = (desk.operator(each, runs(), is_dependency=True) for each in ("used", "held"))
    crd = desk.definition(desk.bundle_deployment(used, CRD), "things")
    desk.custom_resource("things", "one")
    name = desk.operator("a", runs(*desk.requiring(used, held)))
    other = desk.operator("b", runs(*desk.requiring(held)))
    for each in (name, other):
        desk.bundle_deployment(each)
    for each in (used, held):
        begin_deletion(desk, each)
    try:
        assert desk.olm("uninstall", name, "--dry-run")[1].splitlines()[1:] == [
            f"Operator {used} (1.0.0 from catalog c, channel stable) is being deleted already, and will be gone with it.",
            f"  CustomResourceDefinition {crd}, AND WITH IT 1 {crd}",
            f"Operator {held} is being deleted already, and waits for {other}, which requires it.",
        ]
    finally:
        end_deletion(desk, used, held)


def test_a_bundle_deployment_that_is_not_its_own_stays(desk: Desk) -> None:
    name, other = desk.operator("a", runs()), desk.operator("b", runs())
    uid = desk.bundle_deployment(name, CRD)
    desk.definition(uid, "things")
    owner = desk.get(OPERATORS, other)["metadata"]["uid"]
    patch = f'[{{"op":"replace","path":"/metadata/ownerReferences/0/uid","value":"{owner}"}}]'
    desk.cluster.kubectl("patch", "bundledeployments.core.rukpak.io", name, "--type=json", "-p", patch)
    assert len(desk.olm("uninstall", name, "--dry-run")[1].splitlines()) == 1


@pytest.mark.parametrize("flags", [(), ("--yes",), ("--dry-run",)], ids=["asked", "confirmed", "a preview"])
def test_no_such_operator(flags: tuple[str, ...], desk: Desk) -> None:
    status, out, err = desk.olm("uninstall", f"{desk.prefix}-x", *flags)
    assert (status, out) == (3, "")
    assert f'"{desk.prefix}-x" not found' in err


def test_it_waits_for_the_operator_and_its_dependencies(desk: Desk) -> None:
    gone = desk.operator("gone", runs(), is_dependency=True)
    name = desk.operator("a", runs(*desk.requiring(gone)))
    status, out, err = desk.olm("uninstall", name, "--yes", "--wait", "--timeout", "5s")
    assert (status, out) == (4, f"{RESOURCE}/{name} deleted\n")
    assert err.splitlines()[-1].startswith(f"{gone}: not deleted within 5 seconds: ")
