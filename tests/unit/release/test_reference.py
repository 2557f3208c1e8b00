"""The reference of the API has every word, key and field of the models."""

import ast
import re
from pathlib import Path
from types import ModuleType

import pytest

from olmkit.api import bundledeployments, bundles, catalogs, clustercatalogs, clusterextensions, operators
from olmkit.api.crd import CRD_DEFINITIONS, V1_DEFINITIONS, openapi_schema
from olmkit.api.described_enum import DescribedEnum
from release.reference import documented_keys, render

REPOSITORY = Path(__file__).resolve().parents[3]
PRODUCTS = ("olmkit", "catalogd", "rukpak", "operator_controller", "olmctl", "console")
KEY = re.compile(r"(catalogd|core\.rukpak|olm|operators)(\.operatorframework)?\.io/[a-z-]+(\.[a-z-]+)*")
INTERNAL = {
    "catalogd.operatorframework.io/address",  # of the lease: replicas find their leader by it
    "core.rukpak.io/address",  # of the lease: replicas find their leader by it
    "core.rukpak.io/admission-probe",  # of the dry run that finds out whether the webhook of Bundles answers
    "core.rukpak.io/impersonated-by",  # the extra of a user, which nobody writes: docs/security.md
    "olm.operatorframework.io/scorecard-longest",  # of the same pods: a later run deletes those that a killed one has left
    "olm.operatorframework.io/scorecard",  # of the pods of one run of `olm bundle scorecard`, which deletes them
    "olm.operatorframework.io/cleanup-contentmanager-cache",  # finalizers of OLM v1's controllers, which a deletion removes
    "olm.operatorframework.io/cleanup-unpack-cache",
    "olm.operatorframework.io/generator",  # of OLM v1's CRDs
    "operators.operatorframework.io/builder",  # of operator-sdk, in a ClusterServiceVersion: the program that generated it
    "operators.operatorframework.io/internal-objects",  # of authors, in a ClusterServiceVersion: kinds that people do not create
    "operators.operatorframework.io/display-names",  # within the annotation with the properties of a bundle
}


@pytest.mark.parametrize(
    "module",
    [catalogs, operators, bundles, bundledeployments, clustercatalogs, clusterextensions],
    ids=lambda module: module.__name__,
)
def test_every_condition_type_and_reason_has_a_description(module: ModuleType) -> None:
    words: list[DescribedEnum] = [*module.ConditionType, *module.Reason]
    assert [word for word in words if not word.description] == []
    page = render()
    assert all(f"| `{word.value}` | " in page for word in words)


def test_every_field_of_every_kind_has_a_description() -> None:
    page = render()
    assert "|  |" not in page
    for definition in (*CRD_DEFINITIONS, *V1_DEFINITIONS):
        parts = openapi_schema(definition)["properties"]
        for part in ("spec", "status"):
            assert all(f"| `{part}.{name}` | " in page for name in parts[part].get("properties", {}))


def test_every_annotation_label_and_finalizer_of_the_code_is_described() -> None:
    found = {
        node.value
        for product in PRODUCTS
        for path in (REPOSITORY / product).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and KEY.fullmatch(node.value)
    }
    assert len(found) > 15
    page = render()
    versions = {f"{each.kind.group}/{each.kind.version}" for each in CRD_DEFINITIONS}
    assert {key for key in found - versions - INTERNAL if f"| `{key}` | " not in page} == set()


def test_a_key_without_a_docstring_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "undocumented_keys.py").write_text('NAME_LABEL = "example.com/name"\nOTHER = 1\n')
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=r"undocumented_keys\.NAME_LABEL has no docstring"):
        list(documented_keys(__import__("undocumented_keys")))
