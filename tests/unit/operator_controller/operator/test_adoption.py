"""Which BundleDeployment an Operator takes over."""

from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.operators import ADOPT_ANNOTATION
from operator_controller.operator.adoption import adoption_plan
from operator_controller.operator.blockers import bundle_deployment_blocker
from operator_controller.operator.decide import decide
from operator_controller.operator.world import (
    AddFinalizer,
    AdoptBundleDeployment,
    DeleteBundleDeployment,
    ObservedBundleDeployment,
    PackageClaim,
    ReleaseBundleDeployment,
    RemoveFinalizer,
)
from tests.unit.operator_controller.operator.worlds import bundle_annotations, deployment, operator, owner, world

APPLIED: dict[str, Any] = {
    "manager": "operator-controller",
    "operation": "Apply",
    "time": "2026-01-01T00:00:00Z",
    "fieldsV1": {"f:spec": {"f:template": {}}},
}
ASKED = {ADOPT_ANNOTATION: "true"}
OTHER_PACKAGE = bundle_annotations("1.0.0", package="q")


def found(managed: list[dict[str, Any]], annotations: dict[str, str] | None = None, **changes: Any) -> Any:
    """The BundleDeployment of the Operator's name, with these managedFields and annotations."""
    raw = dict(deployment("1.0.0", **{"owners": [], **changes}).raw)
    identity = {"creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": managed, "annotations": annotations or {}}
    return ObservedBundleDeployment.load({**raw, "metadata": {**raw["metadata"], **identity}})


@pytest.mark.parametrize(
    ("seen", "is_adopted"),
    [
        pytest.param(found([APPLIED]), True, id="one that this controller has made for the package"),
        pytest.param(found([APPLIED], annotations=ASKED), True, id="the same when it is asked for too"),
        pytest.param(found([]), False, id="a copy that another client has made"),
        pytest.param(
            found([{**APPLIED, "time": "2025-01-01T00:00:00Z"}]),
            False,
            id="a copy into which the entries of its original were patched",
        ),
        pytest.param(
            found([{**APPLIED, "fieldsV1": {"f:metadata": {}}}]), False, id="a copy with what is left of these entries"
        ),
        pytest.param(
            found([{**APPLIED, "operation": "Update"}]), False, id="one that this controller has patched only"
        ),
        pytest.param(found([{**APPLIED, "subresource": "status"}]), False, id="a status that was applied"),
        pytest.param(found([], annotations=ASKED), True, id="a copy that a person asks for"),
        pytest.param(found([], annotations={ADOPT_ANNOTATION: "no"}), False, id="another value of the annotation"),
        pytest.param(found([APPLIED], owners=[owner(uid="before")]), False, id="one of an earlier Operator"),
        pytest.param(
            found([APPLIED], owners=[owner(uid="other", controller=False)]), True, id="an owner that controls nothing"
        ),
        pytest.param(found([APPLIED], deleting=True), False, id="one that is being deleted"),
    ],
)
def test_what_is_taken_over(seen: ObservedBundleDeployment, is_adopted: bool) -> None:
    observed = world(bundle_deployment=seen)
    plan = decide(observed).plan
    assert isinstance(plan, AdoptBundleDeployment) is is_adopted
    if isinstance(plan, AdoptBundleDeployment):
        assert (plan.uid, plan.resource_version) == ("uid-deployment", "7")
        assert plan.owners == (*seen.raw["metadata"]["ownerReferences"], owner())
        assert decide(world(operator(finalizers=[]), bundle_deployment=seen)).plan == AddFinalizer(
            tuple(operator()["metadata"]["finalizers"])
        )


def test_what_is_of_another_package_is_never_taken_over_and_the_message_says_so() -> None:
    other = ObservedBundleDeployment.load(
        {
            **found([APPLIED], annotations=ASKED).raw,
            "spec": {
                **deployment("1.0.0").raw["spec"],
                "template": {**deployment("1.0.0").raw["spec"]["template"], "metadata": {"annotations": OTHER_PACKAGE}},
            },
        }
    )
    observed = world(bundle_deployment=other)
    assert adoption_plan(observed) is None
    blocker = bundle_deployment_blocker(observed, None)
    assert blocker is not None
    assert blocker.message == (
        'BundleDeployment "alpha" already exists and is of package "q", whose Operator was deleted without it: create the '
        'Operator under another name, or create one for "q"'
    )


def test_nothing_is_taken_over_while_another_operator_has_the_package() -> None:
    claims = (
        PackageClaim(is_new=True, is_idle=True, created="2026-01-02", name="alpha"),
        PackageClaim(is_new=False, is_idle=False, created="2026-01-03", name="beta"),
    )
    assert adoption_plan(replace(world(bundle_deployment=found([APPLIED])), claims=claims)) is None


@pytest.mark.parametrize(
    ("finalizers", "was_orphaning", "is_kept"),
    [
        pytest.param(["orphan"], False, True, id="the garbage collector has not looked yet"),
        pytest.param([], True, True, id="the garbage collector did not find the BundleDeployment"),
        pytest.param([], False, False, id="a deletion with dependents"),
    ],
)
def test_a_deletion_without_dependents_leaves_the_bundle_deployment_without_the_owner(
    finalizers: list[str], was_orphaning: bool, is_kept: bool
) -> None:
    deleted = operator(deleting=True, finalizers=[*finalizers, *operator()["metadata"]["finalizers"]])
    other = owner(uid="other", controller=False)
    seen = deployment("1.0.0", owners=[owner(), other])
    plan = decide(replace(world(deleted, bundle_deployment=seen), was_orphaning=was_orphaning)).plan
    released = ReleaseBundleDeployment("alpha", "uid-deployment", "7", (other,))
    assert plan == (released if is_kept else DeleteBundleDeployment("alpha", "uid-deployment", "7"))
    left = deployment("1.0.0", owners=[other])
    assert decide(world(deleted, bundle_deployment=left)).plan == RemoveFinalizer(tuple(finalizers))
