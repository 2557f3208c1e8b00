"""The sections and notes of reviews about what would be installed."""

from __future__ import annotations

from typing import Any

import pytest

from console.forms.operator_form import Read
from console.pages.install import approval_notices, refusal_notices
from console.pages.offers import resolved
from console.preview_request import PreviewedBundle, PreviewResult

BUNDLE = PreviewedBundle("p", "1.1.0", "shop", ("it is the newest",))


@pytest.mark.parametrize(
    ("result", "installed", "lines", "rows", "notices"),
    [
        pytest.param(
            PreviewResult((BUNDLE,)), {}, (), (("p 1.1.0", "shop", "it is the newest"),), [], id="a bundle that is new"
        ),
        pytest.param(
            PreviewResult((BUNDLE,)),
            {"p": "1.1.0"},
            ("Nothing: it is installed already.",),
            (),
            [],
            id="a bundle that is installed",
        ),
        pytest.param(
            PreviewResult(refusal="p requires q, which no catalog has"),
            {},
            ("p requires q, which no catalog has",),
            (),
            [
                (
                    "Nothing would be installed.",
                    "p requires q, which no catalog has. The Operator waits until a catalog has what is missing.",
                )
            ],
            id="a requirement that nothing meets",
        ),
    ],
)
def test_what_a_resolution_would_install(
    result: PreviewResult, installed: dict[str, str], lines: Any, rows: Any, notices: Any
) -> None:
    found = resolved(result, installed)
    assert (found.section.lines, found.section.rows, found.is_late) == (lines, rows, False)
    assert [(each.title, each.text) for each in refusal_notices(found.refusal)] == notices


@pytest.mark.parametrize(
    ("spec", "installed", "expected"),
    [
        pytest.param(
            {"approval": "Manual"}, {}, ["Another version is installed after your approval."], id="by approval"
        ),
        pytest.param({}, {}, ["Another version is installed at once."], id="by itself"),
        pytest.param({}, {"p": "1.1.0"}, [], id="no other version"),
    ],
)
def test_a_change_says_when_another_version_is_installed(
    spec: dict[str, str], installed: dict[str, str], expected: list[str]
) -> None:
    found = resolved(PreviewResult((BUNDLE,)), installed)
    assert [each.title for each in approval_notices(Read({"spec": spec}, {}), found)] == expected
