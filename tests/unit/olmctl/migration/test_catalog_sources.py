"""The Catalog that a CatalogSource becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from olmctl.migration.catalog_sources import CatalogPlan, plan_catalogs
from olmctl.migration.v0 import OlmV0
from tests.unit.olmctl.migration.v0_objects import Object, source, subscription, version

NAMED = "have the content in an image, create a Catalog of it, and name it with --catalog"
DIGEST = "sha256:" + "1" * 64


def plans_of(
    sources: Sequence[Object], existing: Sequence[Object] = (), chosen: Mapping[str, str] | None = None, **more: Any
) -> dict[str, CatalogPlan]:
    return plan_catalogs(OlmV0(catalog_sources=sources, catalogs=existing, **more), chosen or {})


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
    plan = plans_of([source(**given)])["olm/community"]
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
    plan = plans_of([source(**given)])["olm/community"]
    assert (plan.problem, plan.manifest, plan.name) == (problem, None, "")


def test_a_catalog_that_is_there_is_used() -> None:
    named = {"metadata": {"name": "mine"}, "spec": image()}
    plan = plans_of([source()], [named])["olm/community"]
    assert (plan.name, plan.manifest, plan.notes) == ("mine", None, ("a Catalog of the same image takes its place",))
    chosen = plans_of([source(image=None, address="a:1")], (), {"olm/community": "other"})["olm/community"]
    assert (chosen.name, chosen.manifest, chosen.problem) == ("other", None, "")


def test_names_are_not_taken_twice() -> None:
    second = source(image="quay.io/other/catalog:latest")
    second["metadata"] = {"name": "community", "namespace": "team"}
    third = source(image="quay.io/third/catalog:latest")
    third["metadata"] = {"name": "c" * 70, "namespace": "team"}
    other = {"metadata": {"name": "team-community"}, "spec": image("quay.io/x:1")}
    used = [
        subscription(namespace="team", source=each["metadata"]["name"], sourceNamespace="team")
        for each in (second, third)
    ]
    plans = plans_of([source(), second, third], [other], subscriptions=used)
    assert plans["olm/community"].name == "community"
    assert plans["team/community"].name == "team-community-2"
    assert plans[f"team/{'c' * 70}"].name == f"team-{'c' * 58}"


def test_what_is_lost_is_said() -> None:
    given = source(secrets=["login", "second"], grpcPodConfig={"extractContent": {"catalogDir": "/data"}})
    given["metadata"]["annotations"] = {"olm.catalogImageTemplate": "quay.io/x:{kube_major_version}"}
    (plan,) = plans_of([given]).values()
    assert plan.notes == (
        "its pull secret login has to be in the namespace of the suite: copy it there from namespace olm first",
        "a Catalog has one pull secret: second is left out",
        "its image follows the version of Kubernetes (olm.catalogImageTemplate): a Catalog keeps the image of today",
        "OLM v0 does not check its tag, and neither does the Catalog: set pollInterval to have that",
        "/data is not carried over: the label of the image names the directory of its files",
    )


def team_source(namespace: str = "team", **spec: Any) -> Object:
    """A CatalogSource that only its own namespace can use."""
    given = source(priority=1000, **spec)
    given["metadata"] = {"name": "own", "namespace": namespace}
    return given


def used(name: str, namespace: str = "team", inside: str = "team") -> Object:
    return subscription(name, namespace, source="own", sourceNamespace=inside)


def test_a_catalog_for_one_namespace_offers_nothing_to_the_operators_of_others() -> None:
    subscriptions = [
        used("lamp"),
        used("bulb"),
        used("Not A Name"),
        used("fan", "others"),
        used("lantern", inside="olm"),
    ]
    (plan,) = plans_of([team_source()], subscriptions=subscriptions).values()
    assert plan.manifest is not None
    assert plan.manifest["spec"] == {**image(pollInterval="0s"), "packages": ["bulb", "lamp"], "priority": -(2**31)}
    assert plan.notes[0] == (
        "only its namespace can use it, and a Catalog is for the whole cluster: the Catalog offers bulb, lamp alone, and has the "
        "priority -2147483648, so that Operators of others are not upgraded from it"
    )


def test_a_catalog_source_that_its_namespace_does_not_use_becomes_no_catalog() -> None:
    (plan,) = plans_of([team_source()], subscriptions=[used("fan", "others")]).values()
    assert (plan.manifest, plan.name) == (None, "")
    assert plan.problem == (
        "only its own namespace can use it, and no Subscription there does: a Catalog is for the whole cluster"
    )


@pytest.mark.parametrize(
    ("namespace", "versions", "is_for_all"),
    [
        pytest.param("olm", [], True, id="that of OLM v0"),
        pytest.param("openshift-marketplace", [], True, id="that of OpenShift"),
        pytest.param(
            "olm",
            [version("packageserver", "openshift-operator-lifecycle-manager")],
            False,
            id="a project of OpenShift that anybody can create",
        ),
        pytest.param("lamps", [], False, id="any other"),
    ],
)
def test_the_namespace_whose_catalogs_are_for_all(namespace: str, versions: list[Object], is_for_all: bool) -> None:
    subscriptions = [used("lamp", namespace, namespace)]
    (plan,) = plans_of([team_source(namespace)], subscriptions=subscriptions, versions=versions).values()
    assert plan.manifest is not None
    assert ("packages" not in plan.manifest["spec"]) == is_for_all
    assert plan.manifest["spec"]["priority"] == (1000 if is_for_all else -(2**31))


@pytest.mark.parametrize(
    ("packages", "is_used"),
    [
        pytest.param(None, True, id="all"),
        pytest.param(["bulb", "lamp"], True, id="what it needs, and more"),
        pytest.param(["bulb"], False, id="only others"),
    ],
)
def test_a_catalog_of_the_same_image_is_used_if_it_offers_the_packages(
    packages: list[str] | None, is_used: bool
) -> None:
    there = {"metadata": {"name": "mine"}, "spec": image() | ({"packages": packages} if packages else {})}
    (plan,) = plans_of([team_source()], [there], subscriptions=[used("lamp")]).values()
    assert (plan.name == "mine") == is_used


def test_a_catalog_for_all_is_not_replaced_by_one_for_some() -> None:
    plans = plans_of([team_source("a-team"), source()], subscriptions=[used("lamp", "a-team", "a-team")])
    assert {key: each.name for key, each in plans.items()} == {"a-team/own": "community", "olm/community": "community"}
    assert plans["olm/community"].manifest is not None
    assert "packages" not in plans["olm/community"].manifest["spec"]
