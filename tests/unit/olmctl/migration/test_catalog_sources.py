"""The Catalog that a CatalogSource becomes."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.migration.catalog_sources import plan_catalogs
from tests.unit.olmctl.migration.v0_objects import Object, source

NAMED = "have the content in an image, create a Catalog of it, and name it with --catalog"
DIGEST = "sha256:" + "1" * 64


def image(ref: str = "quay.io/community/catalog:latest", **more: Any) -> Object:
    return {"source": {"type": "image", "image": {"ref": ref, **more}}}


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        pytest.param({}, image(pollInterval="0s"), id="a tag that OLM v0 does not check is not checked"),
        pytest.param(
            {"updateStrategy": {"registryPoll": {"interval": "45m"}}},
            image(pollInterval="45m"),
            id="a tag is checked as often as before",
        ),
        pytest.param(
            {"updateStrategy": {"registryPoll": {"interval": "often"}}},
            image(pollInterval="15m"),
            id="an interval that OLM v0 cannot read is the one that it uses then",
        ),
        pytest.param(
            {"image": f"quay.io/community/catalog@{DIGEST}", "updateStrategy": {"registryPoll": {"interval": "10m"}}},
            image(f"quay.io/community/catalog@{DIGEST}"),
            id="a digest is not checked",
        ),
        pytest.param(
            {"displayName": "Community", "publisher": "us", "priority": -100, "secrets": ["", "login", "second"]},
            {
                **image(pullSecret="login", pollInterval="0s"),
                **{"priority": -100, "displayName": "Community", "publisher": "us"},
            },
            id="names, priority and the first pull secret",
        ),
    ],
)
def test_the_catalog_of_an_image(given: Object, spec: Object) -> None:
    plan = plan_catalogs([source(**given)], [], {})["olm/community"]
    assert (plan.problem, plan.name) == ("", "community")
    assert plan.manifest == {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": "community"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        pytest.param(
            {"image": None, "address": "10.0.0.7:50051"},
            f"it is the address 10.0.0.7:50051, and a Catalog reads an image: {NAMED}",
            id="an address",
        ),
        pytest.param(
            {"address": "10.0.0.7:50051"},
            f"it is the address 10.0.0.7:50051, and a Catalog reads an image: {NAMED}",
            id="an address counts before an image",
        ),
        pytest.param(
            {"sourceType": "configmap", "configMap": "packages"},
            f"its packages are in ConfigMap packages, in a format that is no file-based catalog: {NAMED}",
            id="a ConfigMap",
        ),
        pytest.param({"image": None}, "it names neither an image nor an address", id="nothing"),
        pytest.param({"sourceType": "ftp"}, 'its sourceType is "ftp", which OLM v0 does not know', id="another type"),
        pytest.param({"image": "Quay.io/X Y"}, "its image Quay.io/X Y is no valid reference", id="no reference"),
    ],
)
def test_a_source_that_no_catalog_can_read(given: Object, problem: str) -> None:
    plan = plan_catalogs([source(**given)], [], {})["olm/community"]
    assert (plan.problem, plan.manifest, plan.name) == (problem, None, "")


def test_a_catalog_that_is_there_is_used() -> None:
    named = {"metadata": {"name": "mine"}, "spec": image()}
    plan = plan_catalogs([source()], [named], {})["olm/community"]
    assert (plan.name, plan.manifest, plan.notes) == ("mine", None, ("a Catalog of the same image takes its place",))
    chosen = plan_catalogs([source(image=None, address="a:1")], [], {"olm/community": "other"})["olm/community"]
    assert (chosen.name, chosen.manifest, chosen.problem) == ("other", None, "")


def test_names_are_not_taken_twice() -> None:
    second = source(image="quay.io/other/catalog:latest")
    second["metadata"] = {"name": "community", "namespace": "team"}
    third = source(image="quay.io/third/catalog:latest")
    third["metadata"] = {"name": "c" * 70, "namespace": "team"}
    other = {"metadata": {"name": "team-community"}, "spec": image("quay.io/x:1")}
    plans = plan_catalogs([source(), second, third], [other], {})
    assert plans["olm/community"].name == "community"
    assert plans["team/community"].name == "team-community-2"
    assert plans[f"team/{'c' * 70}"].name == f"team-{'c' * 58}"


def test_what_is_lost_is_said() -> None:
    given = source(secrets=["login", "second"], grpcPodConfig={"extractContent": {"catalogDir": "/data"}})
    given["metadata"]["annotations"] = {"olm.catalogImageTemplate": "quay.io/x:{kube_major_version}"}
    (plan,) = plan_catalogs([given], [], {}).values()
    assert plan.notes == (
        "its pull secret login has to be in the namespace of the suite: copy it there from namespace olm first",
        "a Catalog has one pull secret: second is left out",
        "its image follows the version of Kubernetes (olm.catalogImageTemplate): a Catalog keeps the image of today",
        "OLM v0 does not check its tag, and neither does the Catalog: set pollInterval to have that",
        "/data is not carried over: the label of the image names the directory of its files",
    )
