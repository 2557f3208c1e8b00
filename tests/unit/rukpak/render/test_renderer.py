"""registry+v1 and plain+v0 as objects. Upstream's own output is compared with in tests/corpus."""

from typing import Any

import pytest

from rukpak.format import BadBundle, PlainBundle
from rukpak.render.renderer import RenderOptions, render
from tests.unit.rukpak.builders import Body, bundle, crd, csv, deployment, obj

RULES = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
NAMESPACES = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}
VPA = obj("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "a")
STRAY_ROLE = obj("rbac.authorization.k8s.io/v1", "ClusterRole", "a", "stray")
INSTALL = {
    "deployments": [deployment()],
    "permissions": [{"serviceAccountName": "b", "rules": RULES}, {"serviceAccountName": "a", "rules": RULES}],
    "clusterPermissions": [
        {"serviceAccountName": "default", "rules": RULES},
        {"serviceAccountName": "a", "rules": RULES},
    ],
}


def names(manifests: list[Any]) -> list[str]:
    """What was rendered, hashes left out."""
    return [f"{m.kind} {m.namespace}/{m.name.rpartition('-')[0] or m.name}" for m in manifests]


def test_objects_in_order_when_all_namespaces_are_watched() -> None:
    found = render(bundle(csv(install=INSTALL), crd(), obj("v1", "Service", "svc")), RenderOptions("ns"))
    assert names(found) == [
        "Namespace /ns",
        "ServiceAccount ns/a",
        "ServiceAccount ns/b",
        "ClusterRole /things.v1.0.0-defa",
        "ClusterRoleBinding /things.v1.0.0-defa",
        "ClusterRole /things.v1.0.0-a",
        "ClusterRoleBinding /things.v1.0.0-a",
        "ClusterRole /things.v1.0.0-b",
        "ClusterRoleBinding /things.v1.0.0-b",
        "ClusterRole /things.v1.0.0-a",
        "ClusterRoleBinding /things.v1.0.0-a",
        "CustomResourceDefinition /things.example.com",
        "Service ns/svc",
        "Deployment ns/manager",
    ]


def test_a_deployment() -> None:
    pod = deployment()
    pod["spec"]["template"]["metadata"]["annotations"] = {"both": "template", "olm.targetNamespaces": "mine"}
    pod["spec"]["revisionHistoryLimit"] = 10
    pod["label"] = {"l": "v"}
    made = csv(install={"deployments": [pod]}, annotations={"both": "csv", "only": "csv"}, modes=("MultiNamespace",))
    found = next(m.body for m in render(bundle(made), RenderOptions("ns", ("b", "a"))) if m.kind == "Deployment")
    assert found["metadata"] == {"name": "manager", "namespace": "ns", "labels": {"l": "v"}}
    assert found["spec"]["revisionHistoryLimit"] == 1
    assert found["spec"]["template"]["metadata"] == {
        "labels": {"app": "manager"},
        "annotations": {
            "both": "template",
            "only": "csv",
            "olm.targetNamespaces": "a,b",
            "olm.operatorNamespace": "ns",
        },
    }
    assert "status" not in found


def test_upstream_has_no_namespace_and_keeps_server_fields() -> None:
    given = obj("v1", "Service", "svc", "placeholder", status={"loadBalancer": {}})
    given["metadata"] |= {"creationTimestamp": None, "finalizers": ["x"], "ownerReferences": [{"name": "o"}]}
    made = bundle(crd(), given)
    theirs = render(made, RenderOptions("ns", upstream=True))
    assert [m.kind for m in theirs] == ["CustomResourceDefinition", "Service", "Deployment"]
    assert theirs[1].body["metadata"] == {**given["metadata"], "namespace": "ns"}
    assert all("status" in m.body for m in theirs)
    ours = {m.kind: m.body for m in render(made, RenderOptions("ns"))}
    assert ours["Service"]["metadata"] == {"name": "svc", "namespace": "ns"}
    assert not any("status" in body for body in ours.values())


def test_rendering_does_not_change_the_bundle() -> None:
    made = bundle(csv(install=INSTALL), crd(), obj("v1", "Service", "svc", "placeholder"))
    first = [m.body for m in render(made, RenderOptions("ns"))]
    assert [m.body for m in render(made, RenderOptions("ns"))] == first


def test_a_service_account_that_the_bundle_brings_is_kept_instead_of_the_generated_one() -> None:
    brought = obj("v1", "ServiceAccount", "a", imagePullSecrets=[{"name": "s"}])
    made = bundle(csv(install=INSTALL), brought)
    ours = [m.body for m in render(made, RenderOptions("ns")) if m.kind == "ServiceAccount"]
    assert [(body["metadata"]["name"], "imagePullSecrets" in body) for body in ours] == [("b", False), ("a", True)]
    theirs = [m.name for m in render(made, RenderOptions("ns", upstream=True)) if m.kind == "ServiceAccount"]
    assert theirs == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("given", "namespace", "upstreams"),
    [
        pytest.param(obj("v1", "Secret", "a", "other"), "ns", "ns", id="namespaced kinds go into the install namespace"),
        pytest.param(VPA, "ns", "", id="upstream takes this one for cluster-scoped"),
        pytest.param(STRAY_ROLE, "", "stray", id="cluster-scoped kinds have none"),
        pytest.param(obj("example.com/v1", "Role", "a", "other"), "ns", "ns", id="the kind counts, whatever the group"),
    ],
)  # fmt: skip
def test_where_other_objects_go(given: Body, namespace: str, upstreams: str) -> None:
    assert render(bundle(given), RenderOptions("ns"))[1].namespace == namespace
    assert render(bundle(given), RenderOptions("ns", upstream=True))[0].namespace == upstreams


def test_objects_that_are_the_same_where_they_go_are_one() -> None:
    permission = {"serviceAccountName": "a", "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
    install = {"deployments": [deployment()], "permissions": [permission, permission]}
    given = (csv(install=install), obj("v1", "ConfigMap", "c"), obj("v1", "ConfigMap", "c", "elsewhere"))
    made = [str(manifest.key) for manifest in render(bundle(*given), RenderOptions("ns"))]
    assert len(made) == len(set(made))
    assert "ConfigMap ns/c" in made
    pair = PlainBundle((obj("v1", "ConfigMap", "c"), obj("v1", "ConfigMap", "c", "ns")))
    assert [str(m.key) for m in render(pair, RenderOptions("ns"))] == ["Namespace ns", "ConfigMap ns/c"]


def test_each_broken_rule_is_reported_on_its_line() -> None:
    with pytest.raises(BadBundle) as caught:
        render(bundle(obj("v1", "Pod", "p"), obj("v1", "Node", "n")), RenderOptions("ns"))
    assert caught.value.reason == "BundleLoadFailed"
    assert caught.value.message == 'unsupported resource "p" with kind "Pod"\nunsupported resource "n" with kind "Node"'


def test_a_plain_bundle_is_rendered_unchanged() -> None:
    thing = obj("example.com/v1", "Thing", "t")
    unknown = obj("unknown.com/v1", "Other", "o")
    made = PlainBundle((obj("v1", "Secret", "here"), obj("v1", "Secret", "there", "there"), crd(), thing, unknown))
    found = [(m.kind, m.namespace, m.name) for m in render(made, RenderOptions("ns"))]
    assert found == [
        ("Namespace", "", "ns"),
        ("Secret", "ns", "here"),
        ("Secret", "there", "there"),
        ("CustomResourceDefinition", "", "things.example.com"),
        ("Thing", "ns", "t"),
        ("Other", "", "o"),
    ]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([obj("v1", "Secret", "s", "elsewhere")], id="nothing is in the default namespace"),
        pytest.param([obj("v1", "Namespace", "ns"), obj("v1", "Secret", "s")], id="it brings the namespace itself"),
    ],
)
def test_a_plain_bundle_without_need_for_a_namespace_gets_none(objects: list[Body]) -> None:
    found = render(PlainBundle(tuple(objects)), RenderOptions("ns"))
    assert [m.kind for m in found] == [body["kind"] for body in objects]


@pytest.mark.parametrize(
    ("fields", "is_ours"),
    [
        pytest.param({}, True, id="of an ordinary role"),
        pytest.param({"aggregationRule": None}, True, id="of a role whose aggregationRule is null"),
        pytest.param({"aggregationRule": {}}, False, id="of a role that aggregates nothing"),
        pytest.param({"aggregationRule": {"clusterRoleSelectors": [{}]}}, False, id="of a role that aggregates others"),
    ],
)
def test_rules_of_a_role_are_ours_unless_kubernetes_writes_them(fields: Body, is_ours: bool) -> None:
    role = obj("rbac.authorization.k8s.io/v1", "ClusterRole", "r", rules=[{"verbs": ["get"]}], **fields)
    manifest, *_ = render(PlainBundle((role,)), RenderOptions("ns"))
    assert ("rules" in manifest.body) is is_ours
    assert render(PlainBundle((role,)), RenderOptions("ns", upstream=True))[0].body == role


def test_scopes_of_the_cluster_take_precedence() -> None:
    made = PlainBundle((obj("example.com/v1", "Thing", "t"),))
    assert render(made, RenderOptions("ns", scopes={("example.com", "Thing"): True}))[-1].namespace == "ns"
    assert render(made, RenderOptions("ns", scopes={("example.com", "Thing"): False}))[-1].namespace == ""


MARKS = {"core.rukpak.io/owner-uid": "u", "core.rukpak.io/released": "b", "member.core.rukpak.io/u": "true", "a": "b"}
MARKED = {"labels": MARKS, "annotations": MARKS}
CLEAN = {"labels": {"a": "b"}, "annotations": {"a": "b"}}


def marked(body: Body) -> Body:
    return body | {"metadata": body["metadata"] | MARKED}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(obj("v1", "ConfigMap", "c", "ns"), id="a namespaced object"),
        pytest.param(obj("v1", "Namespace", "other"), id="a Namespace"),
        pytest.param(crd(), id="a CRD"),
        pytest.param(obj("example.com/v1", "Thing", "t"), id="a custom resource"),
    ],
)
def test_no_object_of_a_bundle_has_reserved_labels(body: Body) -> None:
    for found in (
        render(PlainBundle((marked(body),)), RenderOptions("ns")),
        render(bundle(marked(body)), RenderOptions("ns"))
        if body["kind"] in ("ConfigMap", "CustomResourceDefinition")
        else (),
    ):
        for manifest in found:
            if manifest.kind == body["kind"]:
                assert {field: manifest.body["metadata"][field] for field in CLEAN} == CLEAN
    assert render(PlainBundle((marked(body),)), RenderOptions("ns", upstream=True))[0].body == marked(body)


def test_namespace_templates_and_pods_have_no_reserved_labels() -> None:
    namespace = '{"metadata": {"name": "ns", "labels": {"core.rukpak.io/created": "true", "a": "b"}}}'
    pod = deployment()
    pod["label"] = MARKS
    pod["spec"]["template"]["metadata"] = MARKED
    annotations = {"operatorframework.io/suggested-namespace-template": namespace, "core.rukpak.io/owner-uid": "u"}
    found = render(bundle(csv(install={"deployments": [pod]}, annotations=annotations)), RenderOptions("ns"))
    assert "'core.rukpak.io/" not in str([manifest.body for manifest in found])  # as a key
    assert found[0].body["metadata"] == {"name": "ns", "labels": {"a": "b"}}


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(
            obj("apps/v1", "StatefulSet", "s", "ns", spec={"volumeClaimTemplates": [{"metadata": MARKED, "spec": {}}, 1]}),
            {"volumeClaimTemplates": [{"metadata": CLEAN, "spec": {}}, 1]},
            id="claims",
        ),
        pytest.param(
            obj(
                "batch/v1", "CronJob", "c", "ns",
                spec={"jobTemplate": {"metadata": MARKED, "spec": {"template": {"metadata": MARKED, "spec": {"a": 1}}}}},
            ),
            {"jobTemplate": {"metadata": CLEAN, "spec": {"template": {"metadata": CLEAN, "spec": {"a": 1}}}}},
            id="jobs and their pods",
        ),
        pytest.param(
            obj("example.com/v1", "Thing", "t", "ns", spec={"template": {"metadata": MARKED}}),
            {"template": {"metadata": MARKED}},
            id="templates in custom resources are not changed",
        ),
        pytest.param(obj("apps/v1", "Deployment", "d", "ns", spec=[]), [], id="a spec of another shape"),
    ],
)  # fmt: skip
def test_templates_have_no_reserved_labels(body: Body, wanted: Any) -> None:
    found = render(PlainBundle((body,)), RenderOptions("ns"))
    assert found[-1].body["spec"] == wanted
