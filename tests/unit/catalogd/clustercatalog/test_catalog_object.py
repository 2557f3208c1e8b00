"""The Catalog that a ClusterCatalog wants, and what of an existing one differs from it."""

from __future__ import annotations

from typing import Any

import pytest

from catalogd.clustercatalog.catalog_object import catalog_for, difference, has_removals
from catalogd.clustercatalog.world import ObservedCatalog
from olmkit.api.catalogs import NAME_LABEL
from olmkit.api.clustercatalogs import ClusterCatalog
from olmkit.api.clusterextensions import OWNER_KIND_LABEL
from olmkit.api.meta import Object
from tests.unit.catalogd.clustercatalog.worlds import DIGEST, OWNER, TAG, catalog, cluster_catalog

LABELED = cluster_catalog(metadata={"labels": {NAME_LABEL: "c", "team": "a"}})
GIT = {"type": "git", "git": {"repository": "https://git.example/c", "ref": {"branch": "main"}}}


@pytest.mark.parametrize(
    ("raw", "image"),
    [
        pytest.param(
            cluster_catalog(), {"ref": TAG, "pollInterval": "0s"}, id="without an interval it is never polled"
        ),
        pytest.param(cluster_catalog(poll=7), {"ref": TAG, "pollInterval": "7m"}, id="an interval is in minutes"),
        pytest.param(cluster_catalog(DIGEST), {"ref": DIGEST}, id="a digest has no interval"),
    ],
)
def test_the_source(raw: Object, image: Object) -> None:
    assert catalog_for(ClusterCatalog.load(raw))["spec"]["source"] == {"type": "image", "image": image}


def test_the_catalog_has_the_labels_and_is_owned() -> None:
    desired = catalog_for(ClusterCatalog.load({**LABELED, "spec": {**LABELED["spec"], "priority": -3}}))
    assert desired["metadata"]["labels"] == {"team": "a", OWNER_KIND_LABEL: "ClusterCatalog"}, "without its name"
    assert desired["metadata"]["ownerReferences"] == [OWNER]
    assert (desired["spec"]["priority"], desired["spec"]["availability"]) == (-3, "Available")


@pytest.mark.parametrize(
    ("existing", "wanted", "patch"),
    [
        pytest.param(catalog(), cluster_catalog(), {}, id="nothing differs"),
        pytest.param(
            ObservedCatalog.load({**catalog().raw, "spec": {"source": catalog().raw["spec"]["source"]}}),
            cluster_catalog(),
            {},
            id="defaults are equal to absent fields",
        ),
        pytest.param(
            catalog(cluster_catalog()),
            cluster_catalog(priority=5),
            {"spec": {"priority": 5}},
            id="the priority differs",
        ),
        pytest.param(
            catalog(LABELED),
            cluster_catalog(),
            {"metadata": {"labels": {"team": None}}},
            id="a label that the ClusterCatalog has lost is removed",
        ),
        pytest.param(
            catalog(labels={"other": "x"}),
            cluster_catalog(),
            {"metadata": {"labels": {"other": None}}},
            id="selectors mean the same: a label of others is removed",
        ),
        pytest.param(
            catalog(spec={"source": {"type": "image", "image": {"ref": TAG, "pollInterval": "0s", "pullSecret": "s"}}}),
            cluster_catalog(),
            {},
            id="a pull secret is left to people",
        ),
        pytest.param(
            catalog(spec={"displayName": "People's"}), cluster_catalog(), {}, id="so are all other fields of the spec"
        ),
        pytest.param(
            catalog(),
            cluster_catalog(DIGEST),
            {"spec": {"source": {"image": {"ref": DIGEST, "pollInterval": None}}}},
            id="a digest replaces a tag: the interval is removed",
        ),
        pytest.param(
            catalog(spec={"source": GIT}),
            cluster_catalog(),
            {"spec": {"source": {"type": "image", "git": None, "image": {"ref": TAG, "pollInterval": "0s"}}}},
            id="another source is removed",
        ),
    ],
)
def test_difference(existing: ObservedCatalog, wanted: Object, patch: dict[str, Any]) -> None:
    found = difference(existing, catalog_for(ClusterCatalog.load(wanted)))
    assert found == patch
    assert has_removals(found) is ("None" in str(patch))
