"""Bundles of any shape are read, rendered and checked, or refused; no other exception is raised."""

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from rukpak.format import BadBundle, Bundle, from_json, read_plain, read_registry, to_json
from rukpak.render.cluster_info import ClusterInfo
from rukpak.render.namespaces import install_namespace
from rukpak.render.phases import phases
from rukpak.render.preflight import check
from rukpak.render.renderer import RenderOptions, render
from tests.unit.rukpak import builders

FACTS = ClusterInfo(served={("", "v1", "Secret")}, server_version="v1.34.4")
NAMES = st.sampled_from(["a", "things", "things.example.com", "", "A", "*", "core.rukpak.io"])
LEAF = st.none() | st.booleans() | st.integers(-3, 3) | NAMES
FIELDS = st.sampled_from(
    [
        "group", "names", "kind", "scope", "versions", "name", "served", "template", "metadata", "annotations", "webhooks",
        "rules", "apiGroups", "labels", "deployments", "permissions", "clusterPermissions", "serviceAccountName", "verbs",
        "spec", "selector", "matchLabels", "containers", "installModes", "type", "supported", "generateName", "deploymentName",
        "webhookdefinitions", "customresourcedefinitions", "apiservicedefinitions", "owned", "required", "minKubeVersion",
        "conversionCRDs", "install", "strategy", "status", "data",
    ]
)  # fmt: skip
SHAPE = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4), max_leaves=25
)
KINDS = st.sampled_from(
    [
        ("v1", "Secret"), ("apps/v1", "Deployment"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"), ("example.com/v1", "Thing"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"), ("core.rukpak.io/v1alpha1", "Bundle"),
        ("v1", "Namespace"),
    ]
)  # fmt: skip


@st.composite
def objects(draw: st.DrawFn) -> builders.Body:
    api_version, kind = draw(KINDS)
    fields: dict[str, Any] = draw(
        st.dictionaries(st.sampled_from(["spec", "webhooks", "status", "data"]), SHAPE, max_size=3)
    )
    return builders.obj(
        api_version, kind, draw(NAMES) or "x", draw(st.sampled_from(["", "n", "olm-suite-system"])), **fields
    )


def install(bundle: Bundle, namespace: str) -> None:
    manifests = render(bundle, RenderOptions(namespace))
    ready = check(manifests, bundle, FACTS)
    assert all(isinstance(fault, str) and fault for fault in ready.faults)
    assert sum(len(phase.manifests) for phase in phases(ready.manifests)) == len(ready.manifests)


@settings(deadline=None)
@given(st.lists(objects(), min_size=1, max_size=4))
def test_plain_bundles(bodies: list[builders.Body]) -> None:
    try:
        bundle = read_plain({f"manifests/{number}.json": orjson.dumps(body) for number, body in enumerate(bodies)})
        install(from_json(to_json(bundle)), "n")
    except BadBundle:
        return


@settings(deadline=None)
@given(SHAPE, st.dictionaries(FIELDS, SHAPE, max_size=4), st.lists(objects(), max_size=3))
def test_registry_bundles(strategy: Any, spec: dict[str, Any], bodies: list[builders.Body]) -> None:
    version = builders.csv()
    version["spec"] |= spec
    if isinstance(strategy, dict):
        version["spec"]["install"] = {"strategy": "deployment", "spec": strategy}
    try:
        bundle = read_registry(builders.files(version, *bodies))
        install(from_json(to_json(bundle)), install_namespace(bundle)[0])
    except BadBundle:
        return
