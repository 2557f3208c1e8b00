"""The next step for a ClusterCatalog."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from catalogd.clustercatalog.decide import DELETION_RECHECK, decide
from catalogd.clustercatalog.world import (
    AdoptCatalog,
    ApplyCatalog,
    DeleteCatalog,
    Keep,
    Prepare,
    ReleaseCatalog,
    SetFinalizers,
    StandAside,
    World,
)
from olmkit.api.catalogs import NAME_LABEL
from olmkit.api.clustercatalogs import ADOPT_ANNOTATION, FINALIZER
from olmkit.api.clusterextensions import OWNER_KIND_LABEL
from olmkit.api.foreign_leader import ForeignLeader
from olmkit.errors import Blocked, Waiting
from tests.unit.catalogd.clustercatalog.worlds import DIGEST, OWNER, THEN, catalog, cluster_catalog, world

LEADER = ForeignLeader("olmv1-system", "catalogd-operator-lock", "pod-1", timedelta(seconds=100))
IDENTITY = {"uid": "uid-catalog", "resourceVersion": "7"}
NEW: dict[str, Any] = {"labels": {}, "finalizers": []}
STRANGER = {**OWNER, "uid": "uid-before"}
OTHER = {**OWNER, "kind": "Other", "uid": "other", "controller": False}
ADOPTED = {"annotations": {ADOPT_ANNOTATION: "c"}}
DELETED = cluster_catalog(deleting=True)
ORPHANED = cluster_catalog(deleting=True, metadata={"finalizers": ["orphan", FINALIZER]})
UNAVAILABLE = cluster_catalog(availabilityMode="Unavailable")
NEVER_SERVED = cluster_catalog(availabilityMode="Unavailable", metadata={"finalizers": []})


@pytest.mark.parametrize(
    ("seen", "plan"),
    [
        pytest.param(
            world(leader=LEADER), StandAside(timedelta(seconds=100)), id="while upstream leads nothing is written"
        ),
        pytest.param(
            world(DELETED, catalog(), leader=LEADER),
            StandAside(timedelta(seconds=100)),
            id="not even for a deletion",
        ),
        pytest.param(
            world(leader=ForeignLeader("n", "l", "h", timedelta(milliseconds=1))),
            StandAside(timedelta(seconds=1)),
            id="its end is awaited for a second at least",
        ),
        pytest.param(
            world(cluster_catalog(metadata=NEW)),
            Prepare((FINALIZER,), {NAME_LABEL: "c"}),
            id="first of all it gets the finalizer and the label, in one write",
        ),
        pytest.param(
            world(cluster_catalog(metadata={"labels": {NAME_LABEL: "x"}, "finalizers": ["other", FINALIZER]})),
            Prepare(("other", FINALIZER), {NAME_LABEL: "c"}),
            id="a wrong label is set right, and other finalizers stay",
        ),
        pytest.param(
            world(cluster_catalog(availabilityMode="Unavailable", metadata=NEW)),
            Prepare((), {NAME_LABEL: "c"}),
            id="what is not to be served needs no finalizer",
        ),
        pytest.param(world(existing=catalog()), Keep(), id="nothing differs"),
        pytest.param(world(UNAVAILABLE, catalog(UNAVAILABLE), is_served=True), Keep(), id="it is still being served"),
        pytest.param(
            world(UNAVAILABLE, catalog(UNAVAILABLE)),
            SetFinalizers(()),
            id="unavailable, and nothing is served any more: the finalizer goes",
        ),
        pytest.param(world(NEVER_SERVED, catalog(NEVER_SERVED)), Keep(), id="and nothing is left to do"),
        pytest.param(
            world(DELETED, catalog()), DeleteCatalog("uid-catalog", "7"), id="a deletion deletes the Catalog first"
        ),
        pytest.param(
            world(DELETED, catalog(metadata={"deletionTimestamp": THEN})), Keep(), id="it waits for the Catalog"
        ),
        pytest.param(world(DELETED, is_served=True), Keep(), id="it waits until nothing is served"),
        pytest.param(world(DELETED), SetFinalizers(()), id="then the finalizer goes"),
        pytest.param(
            world(DELETED, catalog(owners=[]), is_served=True),
            SetFinalizers(()),
            id="a Catalog of a person stays, and is not waited for",
        ),
        pytest.param(
            world(cluster_catalog(deleting=True, metadata={"finalizers": ["other"]})), Keep(), id="others hold it"
        ),
        pytest.param(
            world(ORPHANED, catalog(owners=[OTHER, OWNER]), is_served=True),
            ReleaseCatalog(IDENTITY, (OTHER,)),
            id="without its dependents: the Catalog is released",
        ),
        pytest.param(
            world(DELETED, catalog(owners=[]), was_orphaning=True),
            ReleaseCatalog(IDENTITY, ()),
            id="the garbage collector was faster: the label is left to remove",
        ),
        pytest.param(
            world(DELETED, catalog(owners=[], metadata={"labels": {}}), was_orphaning=True, is_served=True),
            SetFinalizers(()),
            id="it is released: the finalizer goes, and content is served on",
        ),
        pytest.param(
            world(existing=catalog(owners=[OTHER], metadata=ADOPTED)),
            AdoptCatalog(IDENTITY, (OTHER, OWNER)),
            id="a Catalog that names it is taken over",
        ),
    ],
)
def test_the_next_step(seen: World, plan: object) -> None:
    assert decide(seen).plan == plan


@pytest.mark.parametrize(
    ("seen", "error", "words"),
    [
        pytest.param(
            world(cluster_catalog("registry.example/c@md5:" + "a" * 32)),
            Blocked,
            'source catalog content: "registry.example/c@md5:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" cannot be read: write it as',
            id="a digest that is no sha256",
        ),
        pytest.param(
            world(existing=catalog(owners=[])),
            Blocked,
            'Catalog "c" exists and does not belong to this ClusterCatalog: delete it, or hand it over with `kubectl annotate',
            id="a Catalog of a person",
        ),
        pytest.param(
            world(existing=catalog(owners=[], metadata={"annotations": {ADOPT_ANNOTATION: "x"}})),
            Blocked,
            'Catalog "c" exists and does not belong to this ClusterCatalog',
            id="one that names another ClusterCatalog",
        ),
        pytest.param(
            world(existing=catalog(owners=[{**OWNER, "kind": "Other", "uid": "x"}], metadata=ADOPTED)),
            Blocked,
            'Catalog "c" exists and does not belong to this ClusterCatalog',
            id="one that another object controls",
        ),
        pytest.param(
            world(existing=catalog(owners=[STRANGER])),
            Waiting,
            'Catalog "c" belongs to an earlier ClusterCatalog of the name and is being deleted',
            id="one of an earlier ClusterCatalog",
        ),
    ],
)
def test_what_prevents_a_step(seen: World, error: type[Exception], words: str) -> None:
    plan = decide(seen).plan
    assert isinstance(plan, error)
    assert str(plan).startswith(words)
    if isinstance(plan, Waiting):
        assert plan.after == DELETION_RECHECK


def test_a_catalog_is_created_only_if_there_is_none() -> None:
    plan = decide(world()).plan
    assert isinstance(plan, ApplyCatalog)
    assert (plan.catalog["metadata"]["resourceVersion"], plan.replaced) == ("1", {})


def test_a_catalog_that_differs_is_applied_if_it_is_still_the_same() -> None:
    seen = world(cluster_catalog(priority=7), catalog())
    plan = decide(seen).plan
    assert isinstance(plan, ApplyCatalog)
    assert (plan.catalog["metadata"]["uid"], plan.replaced) == ("uid-catalog", {})
    assert OWNER_KIND_LABEL in plan.catalog["metadata"]["labels"]


def test_what_an_apply_would_keep_is_replaced_before_it() -> None:
    plan = decide(world(cluster_catalog(DIGEST), catalog())).plan
    assert isinstance(plan, ApplyCatalog)
    assert plan.replaced == {"spec": {"source": {"image": {"ref": DIGEST, "pollInterval": None}}}}


GIT = {"type": "git", "git": {"repository": "https://git.invalid/c", "ref": {"branch": "main"}}}
REFUSED = "registry.example/c@md5:" + "a" * 32


def test_what_a_refused_reference_comes_with_is_done_and_the_image_stays() -> None:
    seen = world(cluster_catalog(REFUSED, availabilityMode="Unavailable"), catalog(), is_served=True)
    plan = decide(seen).plan
    assert isinstance(plan, ApplyCatalog)
    assert plan.catalog["spec"]["availability"] == "Unavailable"
    assert plan.catalog["spec"]["source"] == catalog().raw["spec"]["source"]
    assert plan.replaced == {}


@pytest.mark.parametrize(
    ("seen", "plan"),
    [
        pytest.param(
            world(cluster_catalog(REFUSED, availabilityMode="Unavailable"), catalog(UNAVAILABLE), is_served=True),
            None,
            id="it is still being served",
        ),
        pytest.param(
            world(cluster_catalog(REFUSED, availabilityMode="Unavailable"), catalog(UNAVAILABLE)),
            SetFinalizers(()),
            id="nothing is served any more: the finalizer goes",
        ),
        pytest.param(
            world(
                cluster_catalog(REFUSED, availabilityMode="Unavailable"),
                catalog(spec={"source": GIT}),
            ),
            None,
            id="a source of others, which the reference would replace",
        ),
    ],
)
def test_the_next_step_with_a_refused_reference(seen: World, plan: object) -> None:
    found = decide(seen)
    assert isinstance(found.plan, Blocked) if plan is None else found.plan == plan
    assert not found.evaluation.is_current


@pytest.mark.parametrize(
    ("seen", "is_current"),
    [
        pytest.param(world(existing=catalog()), True, id="as it should be, and observed"),
        pytest.param(world(existing=catalog(observed=1)), False, id="not observed yet"),
        pytest.param(world(existing=catalog(labels={"other": "x"})), False, id="about to be changed"),
        pytest.param(world(), False, id="no Catalog yet"),
    ],
)
def test_when_the_status_of_the_catalog_counts(seen: World, is_current: bool) -> None:
    assert decide(seen).evaluation.is_current is is_current
