"""The page of a Catalog."""

from __future__ import annotations

from typing import Any

import pytest

from console.views.catalogs import CatalogInput, catalog_detail_view
from olmkit.api import clustercatalogs
from olmkit.api.meta import controller_reference

OWNER = controller_reference(clustercatalogs.KIND, "packages", "u")
EDIT = "Catalog packages belongs to ClusterCatalog packages, which sets this: change that (kubectl edit"
DELETE = "Catalog packages belongs to ClusterCatalog packages, which creates it again: delete that (kubectl delete"


@pytest.mark.parametrize(
    ("owners", "fact", "edit", "delete"),
    [
        pytest.param([], "", "", "", id="a Catalog of a person is changed and deleted here"),
        pytest.param([OWNER], "ClusterCatalog packages", EDIT, DELETE, id="one of a ClusterCatalog is changed there"),
    ],
)
def test_whose_a_catalog_is(owners: list[Any], fact: str, edit: str, delete: str) -> None:
    source = {"type": "image", "image": {"ref": "registry.example.com/packages:1"}}
    catalog = {
        "kind": "Catalog",
        "metadata": {"name": "packages", "generation": 1, "ownerReferences": owners},
        "spec": {"source": source},
    }
    view = catalog_detail_view(CatalogInput(catalog, [catalog], [], {}))
    assert dict((each.name, each.value) for each in view.facts).get("Belongs to", "") == fact
    refusals = {each.text: each.reason for each in view.actions}
    for text, refusal in (("Edit", edit), ("Delete", delete)):
        assert refusals[text].startswith(refusal)
        assert bool(refusals[text]) is bool(refusal)
    assert view.row.refresh.reason == ""
