"""The BundleDeployment that a candidate requires."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.bundledeployments import install_fields
from operator_controller.operator.bundle_deployment import (
    bundle_deployment_for,
    differs,
    foreign_fields,
    has_image,
    replaced_fields,
)
from operator_controller.operator.decide import evaluate
from operator_controller.operator.evaluation import Held, Kept, Selected
from operator_controller.operator.running_bundle import read_running
from tests.unit.operator_controller.operator.worlds import (
    bundle,
    bundle_annotations,
    deployment,
    image,
    offer,
    operator,
    world,
)


def test_properties_beyond_the_limit_are_left_out() -> None:
    many = [{"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K" * 1000}}] * 500
    observed = world(offers=(offer("1.0.0", bundle={"properties": many}),))
    assert observed.resolution is not None
    assert observed.resolution.answer is not None
    assert observed.resolution.answer.bundle is not None
    desired = bundle_deployment_for(observed, observed.resolution.answer.bundle)
    assert desired is not None
    text = desired["spec"]["template"]["metadata"]["annotations"]["operators.operatorframework.io/properties"]
    assert len(text) <= 131_072
    assert text.endswith("}]")
    assert not differs(type(deployment("1.0.0")).load({**desired, "status": {}}), desired)


@pytest.mark.parametrize(
    ("applied", "removed"),
    [
        pytest.param({}, {}, id="nothing of others"),
        pytest.param(
            {"annotations": {**bundle_annotations("1.0.0"), "operators.operatorframework.io/x": "y"}},
            {"template": {"metadata": {"annotations": {"operators.operatorframework.io/x": None}}}},
            id="an annotation that describes a bundle",
        ),
        pytest.param({"annotations": {**bundle_annotations("1.0.0"), "x/y": "z"}}, {}, id="not any other annotation"),
        pytest.param(
            {"pull_secret": "mine"},
            {"template": {"spec": {"source": {"image": {"pullSecret": None}}}}},
            id="a pull secret",
        ),
        pytest.param(
            {"pull_secret": "mine", "verify": {"authorities": [{"key": {"data": "k"}}]}},
            {"template": {"spec": {"source": {"image": {"pullSecret": None, "verify": None}}}}},
            id="a policy for signatures",
        ),
        pytest.param(
            {"spec": {"installNamespace": "x", "watchNamespaces": ["a"]}},
            {"installNamespace": None, "watchNamespaces": None},
            id="how it is installed",
        ),
        pytest.param({"spec": {"somethingElse": "x"}}, {}, id="not a field of another version"),
    ],
)
def test_what_others_have_added_is_removed(applied: dict[str, Any], removed: dict[str, Any]) -> None:
    desired = dict(deployment("1.0.0").raw)
    assert foreign_fields(deployment("1.0.0", **applied), desired) == removed


def test_a_running_bundle_without_an_image_is_that_of_no_template() -> None:
    """A BundleDeployment that was taken over may be of a git repository."""
    raw = bundle("1.0.0")
    running, _ = read_running(raw)
    assert has_image(running, image("1.0.0"))
    assert not has_image(running, image("1.1.0"))
    git = {"repository": "https://git.example.com/r", "ref": {"tag": "v1"}}
    raw["spec"]["source"] = {"type": "git", "git": git}
    running, _ = read_running(raw)
    assert running.image == ""
    assert not has_image(running, "")
    assert not has_image(running, image("1.0.0"))


def test_another_source_is_replaced_as_a_whole() -> None:
    desired = dict(deployment("1.0.0").raw)
    assert replaced_fields(deployment("1.1.0", pull_secret="mine").raw, desired) == {}
    git = {"type": "git", "git": {"repository": "https://git.example.com/r", "ref": {"tag": "v1"}}}
    existing = {"spec": {"template": {"spec": {"source": git}}}}
    source = {"git": None, "type": "image", "image": {"ref": image("1.0.0")}}
    assert replaced_fields(existing, desired) == {"template": {"spec": {"source": source}}}


def test_what_was_written_for_another_account_is_replaced_together_with_the_account() -> None:
    """Else it would be installed as the account of the Operator, by whoever may write BundleDeployments."""
    mine, theirs = {"name": "installer", "namespace": "blue"}, {"name": "installer", "namespace": "red"}
    spec = dict(deployment("1.0.0").raw)["spec"]
    existing = {
        "spec": {**spec, "serviceAccount": theirs, "config": {"env": [{"name": "A"}]}, "installNamespace": "red"}
    }
    desired = {"spec": {**spec, "serviceAccount": mine}}
    others = {"config": None, "installNamespace": None}
    assert replaced_fields(existing, desired) == {"serviceAccount": {"namespace": "blue"}, **others}
    assert replaced_fields(existing, {"spec": spec}) == {"serviceAccount": None, **others}
    assert replaced_fields({"spec": {**existing["spec"], "installNamespace": None}}, existing) == {
        "installNamespace": "red"
    }
    assert replaced_fields(existing, existing) == {}
    assert replaced_fields({"spec": {**spec, "installNamespace": "red"}}, {"spec": spec}) == {}


def test_a_pull_secret_that_is_desired_stays() -> None:
    desired = dict(deployment("1.0.0", pull_secret="login").raw)
    assert foreign_fields(deployment("1.0.0", pull_secret="login"), desired) == {}


INSTALL = {"namespace": "port", "watchNamespaces": ["a", "b"]}
INSTALL_FIELDS = {"installNamespace": "port", "watchNamespaces": ["a", "b"]}


@pytest.mark.parametrize(
    ("spec", "existing", "runs", "expected"),
    [
        pytest.param({"install": INSTALL}, None, "", INSTALL_FIELDS, id="a first installation has them"),
        pytest.param({"install": INSTALL}, {}, "1.0.0", INSTALL_FIELDS, id="a change is handed on"),
        pytest.param({}, INSTALL_FIELDS, "1.0.0", {}, id="what is removed is removed"),
        pytest.param(
            {"install": {"watchNamespaces": [""]}}, INSTALL_FIELDS, "1.0.0", {"watchNamespaces": [""]}, id="one of two"
        ),
        pytest.param({"install": INSTALL}, INSTALL_FIELDS, "1.0.0", None, id="nothing is written without a change"),
        pytest.param(
            {"install": {"config": {"affinity": {"nodeAffinity": None}, "env": [{"name": "A", "value": None}]}}},
            {"config": {"affinity": {}, "env": [{"name": "A"}]}}, "1.0.0", None, id="null is as if it were not there",
        ),
        pytest.param({"install": {"config": {}}}, {}, "1.0.0", {"config": {}}, id="a config"),
        pytest.param({"install": INSTALL, "paused": True}, {}, "1.0.0", None, id="a paused Operator changes nothing"),
        pytest.param(
            {"install": INSTALL, "approval": "Manual", "version": ">=1.0.0"}, {}, "1.0.0", INSTALL_FIELDS,
            id="they need no approval",
        ),
    ],
)  # fmt: skip
def test_how_a_bundle_is_installed_is_handed_on(
    spec: dict[str, Any], existing: dict[str, Any] | None, runs: str, expected: dict[str, Any] | None
) -> None:
    versions = ("1.0.0", "1.1.0") if "approval" in spec else ("1.0.0",)
    known = {} if existing is None else {"bundle_deployment": deployment("1.0.0", spec=existing)}
    evaluation = evaluate(world(operator(spec), runs=runs, offers=(offer(*versions),), **known))
    assert isinstance(evaluation, Kept | Held | Selected)
    written = evaluation.comparison.to_apply
    assert (written and install_fields(dict(written))) == expected
    if existing is not None:
        assert (evaluation.comparison.current_deployment is None) == (expected is not None), "it is not Ready before"
        assert written is None or written["spec"]["template"]["spec"]["source"]["image"]["ref"] == image("1.0.0")
