"""The fields that a refused apply names in its message."""

from __future__ import annotations

import pytest

from console.pages.saving import undeclared

_OF = "failed to create typed patch object (shop/orders; g/v1, Kind=K): "


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(f"{_OF}.spec.bogus: field not declared in schema", ["spec.bogus"], id="one field"),
        pytest.param(
            f"{_OF}errors:\n  .spec.a: field not declared in schema\n  .spec.b[0].c: field not declared in schema",
            ["spec.a", "spec.b[0].c"],
            id="several fields",
        ),
        pytest.param("admission webhook denied the request", [], id="another refusal"),
    ],
)
def test_fields_that_the_schema_does_not_have_are_found(message: str, expected: list[str]) -> None:
    assert [each.field for each in undeclared(message)] == expected
