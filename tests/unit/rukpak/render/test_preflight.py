"""What stands between a bundle and a cluster."""

from dataclasses import replace
from typing import Any

import pytest

from rukpak.format import Bundle, PlainBundle
from rukpak.format.bundle import MAX_OBJECT_BYTES
from rukpak.format.objects import BundleObject, ObjectKey
from rukpak.render.cluster_info import ClusterInfo
from rukpak.render.preflight import MAX_ANNOTATIONS_BYTES, check
from tests.unit.rukpak.builders import Body, bundle, crd, csv, obj

SERVED = {("", "v1", kind) for kind in ("Secret", "Namespace", "Service", "ConfigMap")} | {
    ("apps", "v1", "Deployment"),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
}
FACTS = ClusterInfo(served=SERVED, server_version="v1.34.4")
MONITOR = obj("monitoring.coreos.com/v1", "ServiceMonitor", "m", "n")
PLAIN = PlainBundle(())
CRD = "CustomResourceDefinition.apiextensions.k8s.io"


def faults_of(*bodies: Body, of: Bundle = PLAIN, facts: ClusterInfo = FACTS) -> list[str]:
    return list(check([BundleObject(body) for body in bodies], of, facts).faults)


def missing_of(*bodies: Body, of: Bundle = PLAIN, facts: ClusterInfo = FACTS) -> list[str]:
    return list(check([BundleObject(body) for body in bodies], of, facts).missing)


def test_a_bundle_without_faults() -> None:
    manifests = [
        BundleObject(obj("v1", "Namespace", "n")),
        BundleObject(crd()),
        BundleObject(obj("example.com/v1", "Thing", "t", "n")),
    ]
    ready = check(manifests, bundle(), FACTS)
    assert ready.manifests == tuple(manifests)
    assert (ready.faults, ready.left_out, ready.missing) == ((), (), ())


@pytest.mark.parametrize("group", ["monitoring.coreos.com", "autoscaling.k8s.io", "console.openshift.io"])
def test_kinds_that_an_operator_can_do_without_are_left_out(group: str) -> None:
    optional = BundleObject(obj(f"{group}/v1", "A", "m", "n"))
    needed = BundleObject(obj("v1", "Secret", "s", "n"))
    ready = check([optional, needed], PLAIN, FACTS)
    assert ready.left_out == (ObjectKey(group, "A", "n", "m"),)
    assert ready.manifests == (needed,)
    assert ready.missing == ()


@pytest.mark.parametrize(
    ("bodies", "facts"),
    [
        pytest.param(
            [MONITOR],
            replace(FACTS, served=SERVED | {("monitoring.coreos.com", "v1", "ServiceMonitor")}),
            id="the cluster has it",
        ),
        pytest.param(
            [MONITOR, crd("servicemonitors", "monitoring.coreos.com", kind="ServiceMonitor")],
            FACTS,
            id="the bundle brings it",
        ),
    ],
)
def test_optional_kinds_are_applied_where_the_cluster_serves_them(bodies: list[Body], facts: ClusterInfo) -> None:
    ready = check([BundleObject(body) for body in bodies], PLAIN, facts)
    assert ready.left_out == ()
    assert len(ready.manifests) == len(bodies)


@pytest.mark.parametrize(
    ("bodies", "facts", "wanted"),
    [
        pytest.param(
            [obj("x.com/v1", "B", "b"), obj("x.com/v1", "A", "a"), obj("x.com/v1", "A", "c")],
            FACTS,
            ["A (x.com/v1)", "B (x.com/v1)"],
            id="each kind once, sorted",
        ),
        pytest.param(
            [crd(version="v2"), obj("example.com/v1", "Thing", "t")],
            FACTS,
            ["Thing (example.com/v1)"],
            id="the bundle brings another version",
        ),
        pytest.param(
            [obj("apps/v1beta1", "Deployment", "d")],
            FACTS,
            ["Deployment (apps/v1beta1): the cluster serves it as v1 only"],
            id="the cluster has another version",
        ),
        pytest.param(
            [obj("x.com/v1", "A", "a")],
            replace(FACTS, failed_groups={"x.com"}),
            ["A (x.com/v1): the API server of group x.com does not answer"],
            id="its API server is away",
        ),
        pytest.param(
            [MONITOR],
            replace(FACTS, failed_groups={"monitoring.coreos.com"}),
            [
                "ServiceMonitor (monitoring.coreos.com/v1): the API server of group monitoring.coreos.com does not "
                "answer"
            ],
            id="an unknown kind cannot be left out",
        ),
    ],
)
def test_kinds_that_must_be_there_first(bodies: list[Body], facts: ClusterInfo, wanted: list[str]) -> None:
    assert missing_of(*bodies, facts=facts) == wanted


OPERATOR_GROUP = obj("operators.coreos.com/v1", "OperatorGroup", "g", "n")
CSV_SERVED = replace(FACTS, served=SERVED | {("operators.coreos.com", "v1alpha1", "ClusterServiceVersion")})
CSV_CRD = crd("clusterserviceversions", "operators.coreos.com", kind="ClusterServiceVersion", version="v1alpha1")

NOT_PLAIN = (
    "the content is a registry+v1 bundle (ClusterServiceVersion things.v1.0.0), which core-rukpak-io-plain does not "
    "install: set spec.template.spec.provisionerClassName to core-rukpak-io-registry"
)


@pytest.mark.parametrize(
    ("bodies", "facts", "fault", "missing"),
    [
        pytest.param(
            [csv(), crd()],
            FACTS,
            NOT_PLAIN,
            [],
            id="a CSV in a plain bundle: the message names the class that installs it",
        ),
        pytest.param(
            [csv(), OPERATOR_GROUP],
            FACTS,
            NOT_PLAIN,
            ["OperatorGroup (operators.coreos.com/v1)"],
            id="what else is missing is missing still",
        ),
        pytest.param([csv()], CSV_SERVED, "", [], id="the cluster serves the kind: it is an object like others"),
        pytest.param([csv(), CSV_CRD], FACTS, "", [], id="the bundle brings the kind"),
        pytest.param(
            [csv()],
            replace(FACTS, failed_groups={"operators.coreos.com"}),
            "",
            [
                "ClusterServiceVersion (operators.coreos.com/v1alpha1): the API server of group operators.coreos.com does not "
                "answer"
            ],
            id="it is unknown whether the cluster serves it",
        ),
    ],
)
def test_a_registry_bundle_that_is_to_be_installed_as_a_plain_one(
    bodies: list[Body], facts: ClusterInfo, fault: str, missing: list[str]
) -> None:
    assert faults_of(*bodies, facts=facts) == ([fault] if fault else [])
    assert missing_of(*bodies, facts=facts) == missing


def test_an_obsolete_definition_is_not_waited_for() -> None:
    old = crd() | {"apiVersion": "apiextensions.k8s.io/v1beta1"}
    ready = check([BundleObject(old)], PLAIN, FACTS)
    assert ready.missing == ()
    assert ready.unsupported == ready.faults
    assert len(ready.faults) == 1


def rules_for(*groups: str, resource: str = "*") -> list[Body]:
    return [{"apiGroups": list(groups), "resources": [resource], "operations": ["*"]}]


def policy(*groups: str) -> Body:
    spec = {"matchConstraints": {"resourceRules": rules_for(*groups)}}
    return obj("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "p", spec=spec)


def webhook(*groups: str, resource: str = "*") -> Body:
    rules = rules_for(*groups, resource=resource)
    hooks = [{"name": "w.x.com", "rules": rules}]
    return obj("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "w", webhooks=hooks)


def annotated(size: int) -> Body:
    template: dict[str, Any] = {"metadata": {"annotations": {"a": "x" * size}}}
    return obj("apps/v1", "Deployment", "d", "n", spec={"template": template})


W = "ValidatingWebhookConfiguration.admissionregistration.k8s.io w"
POLICY = "ValidatingAdmissionPolicy.admissionregistration.k8s.io p"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        pytest.param(
            obj("v1", "Secret", "s", "olm-suite-system"),
            "Secret olm-suite-system/s is in the suite's own namespace: no bundle may write there",
            id="the suite's namespace",
        ),
        pytest.param(
            obj("v1", "Secret", "s", "olm-suite-keys"),
            "Secret olm-suite-keys/s is in the suite's own namespace: no bundle may write there",
            id="the namespace of the suite's keys",
        ),
        pytest.param(
            obj("v1", "Namespace", "olm-suite-keys"),
            "Namespace olm-suite-keys is in the suite's own namespace: no bundle may write there",
            id="that Namespace itself",
        ),
        pytest.param(
            obj("v1", "Namespace", "olm-suite-system"),
            "Namespace olm-suite-system is in the suite's own namespace: no bundle may write there",
            id="the Namespace itself",
        ),
        pytest.param(
            obj("core.rukpak.io/v1alpha1", "Bundle", "b"),
            "Bundle.core.rukpak.io b is of the suite's own API: no bundle may bring one",
            id="the suite's API",
        ),
        pytest.param(
            crd("operators", "operators.operatorframework.io"),
            f"{CRD} operators.operators.operatorframework.io would replace the suite's own API: no bundle may bring it",
            id="the suite's CRDs",
        ),
        pytest.param(
            obj("apiregistration.k8s.io/v1", "APIService", "v2.core.rukpak.io", spec={"group": "core.rukpak.io"}),
            "APIService.apiregistration.k8s.io v2.core.rukpak.io would replace the suite's own API: no bundle may bring it",
            id="another server for the suite's API",
        ),
        pytest.param(
            webhook("a", "*"),
            f'{W}: webhook "w.x.com" matches every API group: it must name those it is for',
            id="a webhook for everything",
        ),
        pytest.param(
            webhook("core.rukpak.io"),
            f'{W}: webhook "w.x.com" matches the suite\'s own API: no bundle may',
            id="a webhook for the suite's API",
        ),
        pytest.param(
            webhook("coordination.k8s.io", resource="leases"),
            f'{W}: webhook "w.x.com" matches Leases, by which controllers elect their leader: no bundle may',
            id="a webhook for Leases",
        ),
        pytest.param(
            policy("a", "*"),
            f"{POLICY} matches every API group: it must name those it is for",
            id="a policy for everything",
        ),
        pytest.param(
            policy("operators.operatorframework.io"),
            f"{POLICY} matches the suite's own API: no bundle may",
            id="a policy for the suite's API",
        ),
        pytest.param(
            policy("coordination.k8s.io"),
            f"{POLICY} matches Leases, by which controllers elect their leader: no bundle may",
            id="a policy for Leases",
        ),
        pytest.param(
            crd() | {"apiVersion": "apiextensions.k8s.io/v1beta1"},
            "the bundle cannot run on Kubernetes 1.22 or newer, which serves CustomResourceDefinitions as v1 only: "
            "things.example.com (v1beta1); choose a newer version of the package",
            id="a CRD of an old version",
        ),
        pytest.param(
            obj("v1", "Secret", "a/b"), "Secret has a name that Kubernetes does not accept: 'a/b'", id="a slash"
        ),
        pytest.param(
            obj("v1", "Secret", "x/../kube-system"),
            "Secret has a name that Kubernetes does not accept: 'x/../kube-system'",
            id="a name that leads elsewhere",
        ),
        pytest.param(obj("v1", "Secret", ".."), "Secret has a name that Kubernetes does not accept: '..'", id="dots"),
        pytest.param(
            obj("v1", "Secret", "a\n"), "Secret has a name that Kubernetes does not accept: 'a\\n'", id="a new line"
        ),
        pytest.param(
            obj("v1", "Secret", "s", "x/../kube-system"),
            "Secret s has a namespace that Kubernetes does not accept: 'x/../kube-system'",
            id="a namespace that leads elsewhere",
        ),
        pytest.param(
            obj("v1", "Secret", "s", ".."), "Secret s has a namespace that Kubernetes does not accept: '..'", id="up"
        ),
        pytest.param(
            obj("v1", "Secret", "s", "A"),
            "Secret s has a namespace that Kubernetes does not accept: 'A'",
            id="no label",
        ),
        pytest.param(
            obj("v1", "Secret", "a" * 254),
            f"Secret has a name that Kubernetes does not accept: '{'a' * 254}'",
            id="a long name",
        ),
        pytest.param(
            obj("v1", "Service", "a.b", "n"),
            "Service n/a.b has a name that Kubernetes does not accept: lower-case letters, digits and `-`, at most 63",
            id="the name of a Service",
        ),
        pytest.param(
            obj("v1", "ConfigMap", "c", data={"a": "x" * MAX_OBJECT_BYTES}),
            f"ConfigMap c has {MAX_OBJECT_BYTES + 78:,} bytes of JSON; the API server takes {MAX_OBJECT_BYTES:,}",
            id="too large",
        ),
        pytest.param(
            annotated(MAX_ANNOTATIONS_BYTES),
            f"Deployment.apps n/d has {MAX_ANNOTATIONS_BYTES + 1:,} bytes of annotations; "
            f"the API server takes {MAX_ANNOTATIONS_BYTES:,}",
            id="too many annotations",
        ),
    ],
)
def test_objects_that_are_refused(body: Body, fault: str) -> None:
    assert faults_of(body) == [fault]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(webhook("apps"), id="a webhook for others' groups"),
        pytest.param(webhook("coordination.k8s.io", resource="leasecandidates"), id="a webhook for others' resources"),
        pytest.param(policy("apps", ""), id="a policy for others' groups"),
        pytest.param(
            obj("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "p", spec=7), id="a strange one"
        ),
        pytest.param(annotated(MAX_ANNOTATIONS_BYTES - 1), id="annotations that just fit"),
        pytest.param(obj("v1", "Secret", "system:a.b"), id="a name with a colon: the server decides"),
    ],
)
def test_objects_that_are_fine(body: Body) -> None:
    assert faults_of(body) == []


def test_two_objects_of_one_name_are_refused() -> None:
    twice = obj("v1", "Secret", "s", "n")
    assert faults_of(twice, twice) == ["Secret n/s is there 2 times"]
