"""The refusals of the API server that wait for another spec."""

from __future__ import annotations

import pytest

from olmkit.errors import FieldCause, Invalid
from operator_controller.clusterextension.act import refusal_of


def answer(*fields: str) -> Invalid:
    """An answer of the API server about these fields of an Operator; without any, that of an admission policy."""
    error = Invalid(422, "Invalid", "it is wrong")
    error.is_about_fields, error.causes = bool(fields), tuple(FieldCause(each, "wrong") for each in fields)
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(answer(), None, id="a policy denies it: it may be changed"),
        pytest.param(
            answer("spec.install.config.tolerations[0].effect"), "InvalidConfiguration", id="the configuration"
        ),
        pytest.param(answer("spec.install.watchNamespaces[0]"), "InvalidConfiguration", id="the namespace to watch"),
        pytest.param(answer("spec.install.serviceAccount.name"), "InvalidConfiguration", id="the account"),
        pytest.param(
            answer("spec.version", "spec.install.config"), "InvalidConfiguration", id="the configuration, beside others"
        ),
        pytest.param(answer("spec.install.namespace"), "Blocked", id="another field"),
    ],
)
def test_a_wrong_field_waits_for_another_spec(error: Invalid, reason: str | None) -> None:
    refusal = refusal_of(error)
    assert (refusal.reason if refusal is not None else None) == reason
    if refusal is not None:
        assert refusal.message == "the Operator is not accepted: it is wrong"
        assert refusal.subject == tuple(sorted(each.field for each in error.causes))
