"""The Operator that takes over what OLM v1 has installed."""

from __future__ import annotations

import re

import pytest

from olmctl.commands import CommandError
from olmctl.migration.v1.objects import MARK
from olmctl.migration.v1.plan import ExtensionPlan, make_plan
from olmctl.migration.v1.steps import pinned, translated
from olmkit.api.clusterextensions import SERVICE_ACCOUNT_ANNOTATION
from olmkit.api.operators import Operator
from tests.olm_v1 import Object, extension
from tests.unit.olmctl.migration.v1.test_plan import CERTIFICATES, of, olm


def plan_of(body: Object, *, with_certificates: bool = False) -> ExtensionPlan:
    objects = of(body, CERTIFICATES) if with_certificates else {}
    (plan,) = make_plan(olm(extensions=[body], objects=objects)).extensions
    return plan


def test_the_operator_is_the_one_that_the_extension_gets_but_for_the_installed_version_and_the_marks() -> None:
    plan = plan_of(extension(catalog={"version": ">=1.0.0", "channels": ["fast"]}))
    later, first = translated(plan), pinned(translated(plan), plan)
    assert (later["spec"]["version"], later["spec"]["channels"]) == (">=1.0.0", ["fast"])
    assert (first["spec"]["version"], first["spec"]["channels"]) == ("1.0.0", ["*"])
    assert first["spec"]["install"] == {**later["spec"]["install"], "adoptionPolicy": "IfUnowned"}
    assert first["metadata"]["ownerReferences"] == later["metadata"]["ownerReferences"]
    assert first["metadata"]["labels"] == {MARK: "lamp"}
    assert first["metadata"]["annotations"] == {MARK: "lamp.v1.0.0 1.0.0"}
    assert Operator.load({**first, "metadata": {**first["metadata"], "uid": "1"}}).spec.version == "1.0.0"


def test_cert_manager_keeps_the_certificates_that_it_has_issued() -> None:
    plan = plan_of(extension(), with_certificates=True)
    assert pinned(translated(plan), plan)["spec"]["install"]["certificates"] == "CertManager"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"config": {"configType": "Inline", "inline": {"colour": "warm"}}},
            'spec.config: unknown field "colour"',
            id="a configuration",
        ),
        pytest.param(
            {"metadata": {"annotations": {SERVICE_ACCOUNT_ANNOTATION: "lamps/Installer"}}},
            f'the annotation {SERVICE_ACCOUNT_ANNOTATION} is "lamps/Installer": write <namespace>/<name>',
            id="an account",
        ),
    ],
)
def test_what_cannot_be_translated_is_named(changes: Object, expected: str) -> None:
    with pytest.raises(CommandError, match=re.escape(f"ClusterExtension lamp: {expected}")):
        translated(plan_of(extension(**changes)))
