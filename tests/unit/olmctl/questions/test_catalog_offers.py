"""What is said about a package that no Catalog offers."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.catalog_offers import why_not_offered, why_nothing_is_offered
from olmkit.api.catalogs import Catalog
from tests.unit.operator_controller.operator.worlds import catalog


def served(name: str, *packages: str, count: int | None = None, **spec: Any) -> Catalog:
    """A Catalog that serves these packages, of `count` in all."""
    status = {"packages": ",".join(packages), "packageCount": len(packages) if count is None else count}
    raw = catalog(status)
    raw["metadata"]["name"] = name
    raw["spec"].update(spec)
    return Catalog.load(raw)


def waiting(name: str, message: str) -> Catalog:
    """A Catalog that serves nothing yet."""
    unpacked = {
        **{"type": "Unpacked", "status": "False", "reason": "UnpackFailed", "message": message},
        **{"lastTransitionTime": "2026-01-01T00:00:00Z"},
    }
    raw = catalog({"conditions": [unpacked], "packages": None, "packageCount": None})
    raw["metadata"]["name"] = name
    return Catalog.load(raw)


NO_CATALOG = 'there is no Catalog yet: create one that has package "party"'
WITHHELD = 'catalog "c" has it, but its spec.packages does not name it: add it there'


@pytest.mark.parametrize(
    ("catalogs", "named", "text"),
    [
        pytest.param([], None, f"package 'party' not found: {NO_CATALOG}", id="no Catalog at all"),
        pytest.param([], "c", "there is no Catalog c: create one", id="a name of a Catalog, and none at all"),
        pytest.param(
            [served("a"), served("b")], "c", "there is no Catalog c: the cluster has a and b", id="another Catalog is named"
        ),
        pytest.param(
            [served("c", "party", "hello", packages=["hello"])], None, f"package 'party' not found: {WITHHELD}",
            id="spec.packages leaves it out",
        ),
        pytest.param(
            [served("c", "hello", count=300, packages=["hello"])], None,
            "package 'party' not found: catalog \"c\" does not offer it: its spec.packages does not name it",
            id="spec.packages leaves it out, and whether the catalog has it is not known",
        ),
        pytest.param(
            [served("c", "hello", packages=["hello"])], None,
            "package 'party' not found: catalog \"c\" does not have it",
            id="the catalog lacks it, whatever spec.packages names",
        ),
        pytest.param(
            [served("c", "party", availability="Unavailable")], None,
            "package 'party' not found: catalog \"c\" is ignored: its spec.availability is Unavailable",
            id="the Catalog is Unavailable",
        ),
        pytest.param(
            [waiting("c", "no such tag\x1b[31m")], None,
            "package 'party' not found: catalog \"c\" is not served yet: no such tag\ufffd[31m",
            id="the Catalog is not served yet, and its message is printable",
        ),
        pytest.param(
            [served("c", "Party-Operator", "quay")], None,
            "package 'party' not found: catalog \"c\" does not have it; did you mean \"Party-Operator\"?",
            id="a similar name, without regard to case",
        ),
        pytest.param(
            [served("a", "party"), served("c", "quay")], "c", "package 'party' not found: catalog \"c\" does not have it",
            id="only the Catalog that is named counts",
        ),
    ],
)  # fmt: skip
def test_why_a_package_is_not_offered(catalogs: list[Catalog], named: str | None, text: str) -> None:
    assert why_not_offered(catalogs, "party", named) == text


def test_why_there_are_no_packages() -> None:
    assert why_nothing_is_offered([]) == "there is no Catalog yet: create one"
    found = [served("a"), served("b", "party", availability="Unavailable"), waiting("c", "no such tag")]
    assert why_nothing_is_offered(found) == (
        'catalog "a" offers no packages; catalog "b" is ignored: its spec.availability is Unavailable; '
        'catalog "c" is not served yet: no such tag'
    )
