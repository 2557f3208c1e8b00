"""What `olm bundle cleanup` says that stays, and what it says about a deletion that takes too long."""

from __future__ import annotations

import json

import pytest

from olmctl.bundle.cleanup import left, what_is_late, without_adopted
from olmctl.questions.installed_objects import NAMESPACE, InstalledObject, InstalledObjects
from olmctl.questions.left_installations import LeftInstallation
from olmkit.api.bundledeployments import ADOPTED_ANNOTATION
from olmkit.api.meta import Kind
from tests.unit.olmctl.bundle.installations import deployment

KIND = {"group": "tools.example.com", "version": "v1", "kind": "Tool"}
MAPS = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
PROPERTIES = [
    {"type": "olm.gvk.required", "value": KIND},
    {"type": "olm.package.required", "value": {"packageName": "tools", "versionRange": ">=1.0.0"}},
    {"type": "olm.gvk", "value": {**KIND, "kind": "Own"}},
]


def test_what_stays_is_named() -> None:
    found = deployment("widgets", installed={"properties": json.dumps(PROPERTIES)})
    found["status"]["released"] = [{"kind": "CustomResourceDefinition", "name": "old.example.com"}]
    namespaces = [InstalledObject(NAMESPACE, {"metadata": {"name": name}}, "Healthy", "") for name in ("own", "shared")]
    lines = list(left(LeftInstallation(found), InstalledObjects(tuple(namespaces), (), frozenset({"own"}))))
    assert lines == [
        "  Namespace shared will stay: it was there before, others use it, or it is to be kept",
        "  CustomResourceDefinition old.example.com will stay: it is in use",
        "  tools.example.com/v1 Tool will stay: the bundle requires this kind, and has not brought it",
        "  package tools will stay: the bundle requires it, and has not brought it",
    ]


def test_what_was_taken_over_stays_with_its_namespace() -> None:
    def found(name: str, *, is_adopted: bool, applied_by: str = "rukpak:w") -> InstalledObject:
        annotations = {ADOPTED_ANNOTATION: "w"} if is_adopted else {}
        owned: dict[str, object] = {f"f:{key}": {} for key in annotations}
        fields = {"f:metadata": {"f:annotations": owned}}
        entries = [{"manager": applied_by, "operation": "Apply", "fieldsV1": fields}]
        metadata = {"name": name, "namespace": name, "annotations": annotations, "managedFields": entries}
        return InstalledObject(MAPS, {"metadata": metadata}, "Healthy", "")

    objects = (
        found("a", is_adopted=True),
        found("b", is_adopted=False),
        found("c", is_adopted=True, applied_by="somebody"),
    )
    own, adopted = without_adopted(InstalledObjects(objects, (), frozenset("abc")))
    assert (own, adopted) == (InstalledObjects(objects[1:], (), frozenset("bc")), objects[:1])


@pytest.mark.parametrize(
    ("observed", "problem", "start"),
    [
        pytest.param(2, "", "\nthe deletion continues; if the controller of a finalizer", id="others are waited for"),
        pytest.param(
            2,
            "rukpak does not run",
            ", but rukpak does not run: the BundleDeployment is deleted when rukpak runs (olm suite status)",
            id="rukpak has stopped since it reported",
        ),
        pytest.param(1, "rukpak does not run", ", but rukpak does not run: ", id="rukpak has stopped before"),
        pytest.param(
            1,
            "",
            ", but it has not reported on the deletion yet: the BundleDeployment is deleted when rukpak runs",
            id="its Lease is not old enough",
        ),
    ],
)
def test_a_deletion_that_takes_too_long(observed: int, problem: str, start: str) -> None:
    """An edit that removes the finalizer of rukpak leaves the whole bundle behind, so it is not advised."""
    found = deployment("widgets")
    found["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "generation": 2}
    found["status"]["observedGeneration"] = observed
    late = what_is_late(found, problem)
    assert late.startswith(start)
    assert ("kubectl edit" in late) == (observed == 2 and not problem)
