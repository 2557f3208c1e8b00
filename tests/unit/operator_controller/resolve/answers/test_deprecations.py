"""What is deprecated of what an Operator follows."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.gocompat.versions import parse_bundle_version
from operator_controller.resolve.answers.deprecations import (
    MAX_DEPRECATION_BYTES,
    NO_REASON,
    Deprecations,
    find_deprecations,
)
from operator_controller.resolve.documents.document_reader import read_package
from operator_controller.resolve.snapshot.package_snapshot import (
    ALL_CHANNELS,
    CatalogOffer,
    CatalogState,
    PackageRequest,
    PackageSnapshot,
    RunningBundle,
)
from tests.unit.operator_controller.resolve.selection.one_package import resolve


def offer(*deprecated: tuple[str, str, str], **changes: Any) -> CatalogOffer:
    """Versions 1.0.0 and 1.1.0 in channels stable and beta; `deprecated`: schema, name and message; `marked`: the versions with
    the property olm.deprecated."""
    marked = changes.pop("marked", ())
    entries = [{"name": "p.v1.0.0"}, {"name": "p.v1.1.0", "replaces": "p.v1.0.0"}]
    document = {
        "package": "p",
        "defaultChannel": "stable",
        "channels": [{"name": name, "entries": entries} for name in ("stable", "beta")],
        "bundles": [
            {
                "name": f"p.v{version}",
                "version": version,
                "image": f"r/p:{version}",
                "properties": [{"type": "olm.deprecated", "value": {}}] if version in marked else [],
            }
            for version in ("1.0.0", "1.1.0")
        ],
        "deprecations": [
            {"reference": {"schema": f"olm.{schema}", "name": name}, "message": message}
            for schema, name, message in deprecated
        ],
    }
    return CatalogOffer(changes.pop("catalog", "community"), package=read_package(document), **changes)


PACKAGE, STABLE, OLD = (
    ("package", "", "gone soon"),
    ("channel", "stable", "use beta"),
    ("bundle", "p.v1.0.0", "has a bug"),
)
RUNNING = RunningBundle("p.v1.0.0", "r/p:1.0.0", "p", parse_bundle_version("1.0.0"), "1.0.0", "community", "stable")
UNKNOWN = CatalogOffer("community", state=CatalogState.UNREACHABLE)


@pytest.mark.parametrize(
    ("request_", "offers", "running", "expected"),
    [
        pytest.param(PackageRequest("p"), (offer(),), RUNNING, Deprecations(), id="nothing"),
        pytest.param(
            PackageRequest("p"),
            (offer(PACKAGE, STABLE, OLD),),
            RUNNING,
            Deprecations("gone soon", (("stable", "use beta"),), "has a bug"),
            id="package, channel and bundle of what runs, although an upgrade is chosen",
        ),
        pytest.param(
            PackageRequest("p", ("beta",)),
            (offer(STABLE, ("channel", "beta", "use gamma")),),
            RUNNING,
            Deprecations(channels=(("beta", "use gamma"),)),
            id="the channel of the spec counts",
        ),
        pytest.param(
            PackageRequest("p", ("beta", "gamma", "stable")),
            (offer(STABLE, ("channel", "beta", "use gamma")),),
            RUNNING,
            Deprecations(channels=(("beta", "use gamma"), ("stable", "use beta"))),
            id="of several channels of the spec each counts that is deprecated",
        ),
        pytest.param(
            PackageRequest("p", ALL_CHANNELS),
            (offer(STABLE, ("channel", "beta", "use gamma")),),
            RUNNING,
            Deprecations(channels=(("beta", "use gamma"), ("stable", "use beta"))),
            id="of every channel each counts that is deprecated",
        ),
        pytest.param(
            PackageRequest("p"),
            (offer(PACKAGE, STABLE, OLD, ("bundle", "p.v1.1.0", "has another")),),
            None,
            Deprecations("gone soon", (("stable", "use beta"),), "has another"),
            id="before the installation those of the chosen bundle",
        ),
        pytest.param(PackageRequest("q"), (CatalogOffer("community"),), None, Deprecations(), id="nothing is chosen"),
        pytest.param(PackageRequest("p"), (UNKNOWN,), RUNNING, None, id="the catalog cannot be read"),
        pytest.param(PackageRequest("p"), (), RUNNING, None, id="the catalog was deleted"),
        pytest.param(
            PackageRequest("p"),
            (offer(OLD, catalog="vendor"),),
            RUNNING,
            Deprecations(bundle="has a bug"),
            id="the catalog that is followed instead counts",
        ),
        pytest.param(
            PackageRequest("p"),
            (offer(("package", "", " "), ("bundle", "p.v1.0.0", "x" * 5000)),),
            RUNNING,
            Deprecations(NO_REASON, (), "x" * (MAX_DEPRECATION_BYTES - 3) + "…"),
            id="messages that are empty or too long",
        ),
        pytest.param(
            PackageRequest("p"),
            (offer(marked=["1.0.0"]),),
            RUNNING,
            Deprecations(bundle=NO_REASON),
            id="a property marks the bundle",
        ),
        pytest.param(
            PackageRequest("p"),
            (offer(OLD, marked=["1.0.0"]),),
            RUNNING,
            Deprecations(bundle="has a bug"),
            id="a property marks the bundle, and a deprecation has a message",
        ),
        pytest.param(
            PackageRequest("p"),
            (offer(marked=["1.0.0"]),),
            None,
            Deprecations(),
            id="a property marks another bundle than the chosen one",
        ),
    ],
)
def test_deprecations(
    request_: PackageRequest,
    offers: tuple[CatalogOffer, ...],
    running: RunningBundle | None,
    expected: Deprecations | None,
) -> None:
    assert find_deprecations(resolve(PackageSnapshot(request_, offers, running))) == expected
