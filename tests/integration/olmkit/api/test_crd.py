"""olmkit.api.crd: the models become structural schemas that stay small and readable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from olmkit.api import crd

MAX_CRD_BYTES = 262_144
"""A larger CRD cannot be applied client-side, because it is copied into an annotation."""
OTHER_SHORT_NAMES = {
    "Kubernetes": (
        "cm cs csr crd crds cj deploy ds ep ev hpa ing limits netpol no ns pc pdb po psp pv pvc quota rc rs sa sc sts svc vac"
    ),
    "OLM v0": "catsrc condition csv csvs ip og op opcond operator sub subs",
    "Knative": (
        "bt cfg ch clusteringress config dm hec imc in-memory-channel kcert king kn kpa ksvc kservice kservices kingress "
        "pa revision rev route rt sks"
    ),
    "Argo": (
        "app apps appproj appprojs appset appsets ar at cat clusterwftmpl cronwf cwf cwft eb es exp ro sensor sn so wf wfat "
        "wfeb wfgcc wftmpl wftr xp"
    ),
    "Flux": "ea gitrepo hc helmrepo hr imgpol imgrepo imgupd imgupdate iua ks ocirepo",
}
"""Short names of kinds that clusters with this suite have. kubectl takes the first kind of a name, whichever that is."""


def schemas(node: Any) -> Iterator[dict[str, Any]]:
    """A schema and all schemas within it."""
    if isinstance(node, dict):
        if "type" in node and isinstance(node["type"], str):
            yield node
        for value in node.values():
            yield from schemas(value)


FILES = crd.render(map(crd.custom_resource_definition, crd.CRD_DEFINITIONS))
MORE = crd.render([crd.operator_condition_definition()])


def definitions() -> list[dict[str, Any]]:
    return [yaml.safe_load(text) for name, text in FILES.items() if name != "kustomization.yaml"]


@pytest.mark.parametrize("text", [*FILES.values(), *MORE.values()], ids=[*FILES, *(f"more {name}" for name in MORE)])
def test_each_file_is_small_enough_for_a_client_side_apply(text: str) -> None:
    assert len(text.encode()) < MAX_CRD_BYTES


def test_a_spec_has_no_defaults() -> None:
    for definition in definitions():
        spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        assert not [schema for schema in schemas(spec) if "default" in schema]


def test_every_field_of_a_spec_is_described() -> None:
    for definition in definitions():
        spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for schema in schemas(spec):
            for name, field in schema.get("properties", {}).items():
                assert field.get("description"), f"{definition['metadata']['name']}: {name}"


def test_the_initial_observed_generation_is_not_that_of_the_object() -> None:
    for definition in definitions():
        status = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
        expected = {} if definition["spec"]["names"]["kind"] == "Package" else {"observedGeneration": -1}
        assert status["default"] == expected


def test_no_column_selects_several_values() -> None:
    columns = {(each.kind.kind, column.name): column.path for each in crd.CRD_DEFINITIONS for column in each.columns}
    assert [which for which, path in columns.items() if "*" in path or ".." in path] == []


def test_the_content_of_a_catalog_is_shown_for_every_type_of_source() -> None:
    (catalogs,) = (each for each in crd.CRD_DEFINITIONS if each.kind.kind == "Catalog")
    assert {column.name: column.path for column in catalogs.columns}["Content"] == ".status.contentDigest"


@pytest.mark.parametrize("project", OTHER_SHORT_NAMES)
def test_short_names_are_those_of_no_other_kind(project: str) -> None:
    used = {name for definition in definitions() for name in definition["spec"]["names"].get("shortNames", ())}
    assert used & set(OTHER_SHORT_NAMES[project].split()) == set()


def test_short_names_are_unique_and_all_kinds_share_a_category() -> None:
    names = [name for definition in definitions() for name in definition["spec"]["names"].get("shortNames", ())]
    assert len(names) == len(set(names))
    assert all("olm" in definition["spec"]["names"]["categories"] for definition in definitions())


@pytest.mark.parametrize(
    ("kind", "column", "path"),
    [
        pytest.param(
            "Catalog", "Reason", '.status.conditions[?(@.type=="Ready")].reason', id="why a Catalog is not Ready"
        ),
        pytest.param("Catalog", "Priority", ".spec.priority", id="which Catalog wins"),
        pytest.param(
            "Bundle",
            "Package",
            r".metadata.annotations.operators\.operatorframework\.io/package",
            id="the owner of a Bundle",
        ),
        pytest.param(
            "Bundle",
            "Version",
            r".metadata.annotations.operators\.operatorframework\.io/bundle-version",
            id="and which",
        ),
        pytest.param(
            "Package",
            "Versions",
            r".metadata.annotations.catalogd\.operatorframework\.io/versions",
            id="what can be pinned",
        ),
    ],
)
def test_columns_of_lists(kind: str, column: str, path: str) -> None:
    (definition,) = (each for each in crd.CRD_DEFINITIONS if each.kind.kind == kind)
    assert {each.name: each.path for each in definition.columns}[column] == path
