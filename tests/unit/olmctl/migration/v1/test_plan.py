"""What becomes of each object of OLM v1, and what has to be done before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from olmctl.migration.listing import Found
from olmctl.migration.v1.objects import MARK, OlmV1
from olmctl.migration.v1.plan import changes_between, make_plan
from olmkit.api import catalogs, clustercatalogs, clusterextensions, operators
from olmkit.api.meta import Kind, controller_reference
from tests.olm_v1 import DEPLOYMENTS, ROLES, Object, catalog, controller, extension, installed, release

CERTIFICATES = Kind("cert-manager.io", "v1", "Certificate", "certificates", namespaced=True)
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
LAMP, NEW = extension(), extension(bundle="")
CONTROLLERS = [controller("catalogd"), controller("operator-controller")]


def of(owner: Object, *kinds: Kind, **metadata: Any) -> dict[str, Sequence[Found]]:
    """What is installed for a ClusterExtension."""
    return {owner["metadata"]["name"]: [Found(each, installed(each, owner, **metadata)) for each in kinds]}


def olm(**given: Any) -> OlmV1:
    """OLM v1 with the package lamp, and what is given instead."""
    usual: dict[str, Any] = {
        "catalogs": [catalog()],
        "extensions": [LAMP],
        "releases": [release(LAMP)],
        "controllers": CONTROLLERS,
        "objects": of(LAMP, DEPLOYMENTS, ROLES),
        "system_namespace": "olm-suite-system",
    }
    return OlmV1(**{**usual, **given})


def operator(name: str = "lamp", owner: Object | None = LAMP, installed: str = "", **metadata: Any) -> Object:
    """An Operator, of the ClusterExtension if it has an owner."""
    if owner is not None:
        uid = owner["metadata"]["uid"]
        metadata["ownerReferences"] = [controller_reference(clusterextensions.KIND, owner["metadata"]["name"], uid)]
    status = {"installed": {"name": installed, "version": "1.0.0"}} if installed else {}
    return {"metadata": {"name": name, **metadata}, "spec": {"packageName": "lamp"}, "status": status}


def moving(installed: str = "") -> Object:
    """The Operator that the migration has created for it."""
    marks = {MARK: "lamp"}, {MARK: "lamp.v1.0.0 1.0.0"}
    return operator(installed=installed, labels=marks[0], annotations=marks[1])


def suite_catalog(name: str = "community", **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}, "apiVersion": catalogs.KIND.api_version}


BY_SET = {"metadata": {"name": "lamp-1", "ownerReferences": [{"uid": "uid-lamp"}]}}
TAKEN = of(LAMP, ROLES, labels={MARK: "lamp"}, ownerReferences=[])


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        pytest.param(olm(), "", id="a package that is installed"),
        pytest.param(olm(extensions=[]), "", id="none"),
        pytest.param(
            olm(extensions=[NEW], releases=[], objects={}), "", id="nothing is installed, whatever the reason is"
        ),
        pytest.param(
            olm(extensions=[extension(conditions={"Progressing": "False"})]), "", id="it is blocked, and runs"
        ),
        pytest.param(olm(releases=[release(LAMP), release(LAMP, 2, "failed")]), "", id="an upgrade has failed"),
        pytest.param(
            olm(releases=[release(LAMP), release(LAMP, 2, "pending-upgrade")]),
            "its release is pending-upgrade: wait",
            id="an upgrade runs",
        ),
        pytest.param(
            olm(releases=[release(LAMP), release(LAMP, 2, "pending-upgrade", namespace="tenant")]),
            "",
            id="somebody has made a Secret like that elsewhere",
        ),
        pytest.param(olm(extensions=[NEW]), "its status does not say which bundle", id="objects without a bundle"),
        pytest.param(
            olm(extensions=[extension(conditions={"Installed": "Unknown"})]),
            "its status does not say which bundle",
            id="it is not known whether the bundle is installed",
        ),
        pytest.param(
            olm(extensions=[extension(metadata=DELETED)]), "it is being deleted: wait until it is gone", id="deleted"
        ),
        pytest.param(
            olm(extensions=[extension(metadata=DELETED)], objects=TAKEN),
            "some of its objects are taken already: --undo gives them back",
            id="it is deleted while its objects are taken",
        ),
        pytest.param(
            olm(extensions=[extension(metadata=DELETED)], objects=TAKEN, operators=[moving()]),
            "",
            id="it is deleted when its Operator has taken over: the Operator goes with it",
        ),
        pytest.param(olm(object_sets=[BY_SET]), "installed by ClusterObjectSet lamp-1", id="by an experimental engine"),
        pytest.param(
            olm(extensions=[extension(namespace="olm-suite-system")]), "which is the suite's", id="into the suite"
        ),
        pytest.param(
            olm(extensions=[extension(sourceType="x", config={"configType": "File"})]),
            "values that this API does not know",
            id="a newer API",
        ),
        pytest.param(olm(operators=[operator(owner=None)]), "Operator lamp exists", id="a person has its Operator"),
        pytest.param(
            olm(operators=[operator("other", owner=None)]), "Operator other has the package lamp", id="and its package"
        ),
        pytest.param(olm(operators=[operator()]), "", id="its Operator was made before"),
        pytest.param(olm(own_catalogs=[suite_catalog()]), "Catalog community exists", id="a person has its Catalog"),
        pytest.param(
            olm(own_catalogs=[suite_catalog(annotations={clustercatalogs.ADOPT_ANNOTATION: "community"})]),
            "",
            id="a person hands its Catalog over",
        ),
        pytest.param(
            olm(own_catalogs=[suite_catalog(ownerReferences=[{"uid": "uid-community"}])]), "", id="its own Catalog"
        ),
        pytest.param(olm(catalogs=[catalog(**DELETED)]), "it is being deleted", id="a catalog is deleted"),
        pytest.param(olm(system_namespace="olmv1-system"), "where OLM v1 is", id="both are in one namespace"),
    ],
)
def test_what_is_in_the_way(found: OlmV1, problem: str) -> None:
    problems = [each for _, each in make_plan(found).all_problems]
    assert [problem in each for each in problems] == ([True] if problem else [])


@pytest.mark.parametrize(
    ("found", "is_begun", "is_moved"),
    [
        pytest.param(olm(), False, False, id="nothing is done"),
        pytest.param(olm(objects=TAKEN), True, False, id="objects are taken"),
        pytest.param(olm(objects=TAKEN, operators=[moving()]), True, False, id="its Operator is created"),
        pytest.param(olm(operators=[moving("lamp.v1.0.0")]), True, True, id="its Operator has taken over"),
        pytest.param(olm(operators=[operator(installed="lamp.v1.0.0")]), False, True, id="the migration has ended"),
        pytest.param(
            olm(operators=[operator(installed="lamp.v1.0.0", owner=extension("other"))]),
            False,
            False,
            id="the Operator is another one's",
        ),
    ],
)
def test_how_far_a_migration_is(found: OlmV1, is_begun: bool, is_moved: bool) -> None:
    (plan,) = make_plan(found).extensions
    assert (plan.is_begun, plan.is_moved) == (is_begun, is_moved)
    assert (plan.bundle, plan.version) == ("lamp.v1.0.0", "1.0.0")


def test_the_bundle_that_was_moved_counts_and_not_what_is_reported_since() -> None:
    found = olm(extensions=[extension(bundle="1.1.0")], operators=[moving("lamp.v1.1.0")])
    (plan,) = make_plan(found).extensions
    assert (plan.bundle, plan.version) == ("lamp.v1.0.0", "1.0.0")


@pytest.mark.parametrize(
    ("extension_", "objects", "note"),
    [
        pytest.param(LAMP, of(LAMP, ROLES), "", id="nothing special"),
        pytest.param(LAMP, of(LAMP, CERTIFICATES), "cert-manager goes on", id="webhooks"),
        pytest.param(NEW, {}, "the suite serves it from its spec", id="nothing is installed"),
        pytest.param(
            extension(conditions={"Progressing": "False"}), {}, "its Progressing is False", id="it waits for a person"
        ),
        pytest.param(LAMP, TAKEN, "`olm migrate v1 --all` continues it", id="it has begun"),
    ],
)
def test_what_is_to_know(extension_: Object, objects: dict[str, Sequence[Found]], note: str) -> None:
    (plan,) = make_plan(olm(extensions=[extension_], objects=objects)).extensions
    assert [note in each for each in plan.notes] == ([True] if note else [])
    assert plan.has_certificates == ("cert-manager" in note)


@pytest.mark.parametrize(
    ("now", "change"),
    [
        pytest.param([LAMP], "", id="nothing"),
        pytest.param([extension(metadata={"generation": 2})], "", id="a field of its spec: the suite follows it"),
        pytest.param([extension(bundle="1.1.0")], "lamp has lamp.v1.1.0 installed, and not lamp.v1.0.0", id="upgraded"),
        pytest.param([NEW], "lamp has nothing installed, and not lamp.v1.0.0", id="removed"),
        pytest.param([extension(metadata={"uid": "2"})], "lamp has lamp.v1.0.0 installed", id="created again"),
        pytest.param([LAMP, extension("bulb")], "ClusterExtension bulb is new", id="another one"),
        pytest.param([], "ClusterExtension lamp is gone", id="deleted"),
    ],
)
def test_what_has_changed_since_the_plan(now: list[Object], change: str) -> None:
    before = olm(objects={})
    changes = changes_between(make_plan(before), make_plan(replace(before, extensions=now)))
    assert [change in each for each in changes] == ([True] if change else [])


def test_an_operator_has_a_name_of_its_own_if_that_of_the_extension_is_too_long() -> None:
    (plan,) = make_plan(olm(extensions=[extension("a" * 60)])).extensions
    assert len(plan.operator) <= operators.MAX_NAME_LENGTH
