"""The watches of a page whose user may not open all of them."""

from __future__ import annotations

import pytest

from console.routes import Watch, without_refused
from olmkit.api import bundledeployments, bundles, operators

A, B, C = (Watch(each.KIND) for each in (operators, bundledeployments, bundles))
OPTIONAL = Watch(bundles.KIND, is_optional=True)


@pytest.mark.parametrize(
    ("watches", "refused", "optional"),
    [
        pytest.param((A, B), (), "", id="all are permitted"),
        pytest.param((A, B), (B,), "b", id="the page is live as to the one that is permitted"),
        pytest.param((A, B, C), (A, C), "ac", id="two of three are refused"),
        pytest.param((A, B), (A, B), "", id="all are refused, and the page is not live"),
        pytest.param((A, OPTIONAL), (A,), "b", id="one that is optional already makes no page live"),
    ],
)
def test_a_watch_that_is_refused_is_optional(
    watches: tuple[Watch, ...], refused: tuple[Watch, ...], optional: str
) -> None:
    found = without_refused(watches, {each: each not in refused for each in watches})
    assert [each.kind for each in found] == [each.kind for each in watches]
    assert [each.is_optional for each in found] == [letter in optional for letter, _ in zip("abc", found, strict=False)]
