"""What is said about a package that no Catalog offers, and about one that rukpak would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.cluster.catalog_offers import refused_text, why_not_offered, why_nothing_is_offered
from olmkit.api.catalogs import Catalog
from operator_controller.resolve.package import read_package
from operator_controller.resolve.snapshot import CatalogOffer, PackageRequest
from operator_controller.resolve.version_range import MastermindsRange
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


def offered(*bundles: dict[str, Any]) -> CatalogOffer:
    entries = [{"name": each["name"]} for each in bundles]
    channels = [{"name": "stable", "entries": entries}]
    document = {"package": "party", "defaultChannel": "stable", "channels": channels, "bundles": list(bundles)}
    return CatalogOffer("c", package=read_package(document))


def bundle(version: str, **more: Any) -> dict[str, Any]:
    return {"name": f"party.v{version}", "version": version, "image": f"i@sha256:{'0' * 64}", **more}


HOOKS = {"webhooks": ["vparty.kb.io"]}
SERVICES = {"apiServices": ["v1.party.example.com"]}
AS_PLAIN = "install its manifests as a plain+v0 bundle that brings its own certificates"


@pytest.mark.parametrize(
    ("bundles", "version", "text"),
    [
        pytest.param([bundle("1.0.0", **HOOKS), bundle("2.0.0")], "", "", id="the newest has none"),
        pytest.param(
            [bundle("1.0.0"), bundle("2.0.0", **HOOKS)], "",
            'bundle "party.v2.0.0" has webhooks (vparty.kb.io), which are not supported yet: choose a version for which the '
            f"catalog names none (1.0.0), or {AS_PLAIN}",
            id="the newest has webhooks",
        ),
        pytest.param(
            [bundle("2.0.0", **SERVICES)], "",
            'bundle "party.v2.0.0" owns API services (v1.party.example.com), which are not supported yet: catalog "c" offers '
            f"no version without them that can be installed now; {AS_PLAIN}",
            id="all versions own API services",
        ),
        pytest.param([bundle("1.0.0"), bundle("2.0.0", **HOOKS)], "1.x", "", id="the version asked for has none"),
        pytest.param([bundle("2.0.0", **HOOKS)], "1.x", "", id="no version is chosen"),
        pytest.param(
            [bundle("1.0.0", mediaType="plain+v0", **HOOKS)], "", "", id="a plain bundle brings its own certificates"
        ),
    ],
)  # fmt: skip
def test_what_rukpak_would_refuse_is_said_beforehand(bundles: list[dict[str, Any]], version: str, text: str) -> None:
    versions = MastermindsRange.parse(version) if version else None
    assert refused_text(PackageRequest("party", "", versions), [offered(*bundles)]) == text
