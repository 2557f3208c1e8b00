"""The cost of a resolution by the size of its package: lines of Python executed, for a package and for one of twice the size.

The author of a catalog determines the size of a package, and each of its Operators is resolved in every pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from olmkit.errors import OlmError
from olmkit.gocompat.version_range import MastermindsRange
from olmkit.gocompat.versions import parse_version
from operator_controller.operator.decide import decide
from operator_controller.operator.report import report
from operator_controller.operator.world import Done
from operator_controller.resolve.documents.document_reader import read_package
from operator_controller.resolve.explain.explanation import explain
from operator_controller.resolve.package.package_content import PackageContent
from operator_controller.resolve.snapshot.package_snapshot import (
    CatalogOffer,
    PackageRequest,
    PackageSnapshot,
    RunningBundle,
)
from tests.bundle_properties import package_required
from tests.counting import lines_counted
from tests.unit.operator_controller.operator import worlds
from tests.unit.operator_controller.operator.worlds import GVK, bundle, deployment, operator, world
from tests.unit.operator_controller.resolve.selection.one_package import resolve

SIZE = 100
GROWTH_LIMIT = 2.5
"""Twice the size, and a logarithmic factor."""


def lines_executed(work: Callable[[], object]) -> int:
    with lines_counted() as lines:
        work()
    return lines.executed


def chain(size: int, channels: int = 1, **changes: Any) -> PackageContent:
    """The package of chain_document()."""
    return read_package(chain_document(size, channels, **changes))


def chain_document(size: int, channels: int = 1, **changes: Any) -> dict[str, Any]:
    """Versions 1.0.0, 1.1.0, … that replace one another, distributed over the channels, with skips and a skipRange each."""
    entries: list[dict[str, Any]] = [
        {
            "name": f"p.v1.{number}.0",
            "replaces": f"p.v1.{number - 1}.0",
            "skips": [f"p.v1.{other}.0" for other in range(max(0, number - 5), number)],
            "skipRange": changes.get("skip_range", ">={low} <{version}").format(
                low=f"1.{max(0, number - 20)}.0", version=f"1.{number}.0"
            ),
        }
        for number in range(size)
    ]
    properties = changes.get("properties", [])
    return {
        "package": "p",
        "defaultChannel": "c0",
        "channels": [{"name": f"c{place}", "entries": entries[place::channels]} for place in range(channels)],
        "bundles": [
            {
                "name": entry["name"],
                "version": entry["name"].removeprefix("p.v"),
                "image": f"r/{entry['name']}",
                "properties": properties,
                "problem": changes.get("problem", ""),
            }
            for entry in entries
        ],
        "deprecations": [
            {"reference": {"schema": "olm.bundle", "name": entry["name"]}, "message": "old"} for entry in entries
        ],
    }


def at(version: str) -> RunningBundle:
    return RunningBundle(f"p.v{version}", "r", "p", parse_version(version), version, "c", "c0")


def request(version: str = "", channel: str = "") -> PackageRequest:
    return PackageRequest("p", (channel,) if channel else (), MastermindsRange.parse(version) if version else None)


WIDE = ">=1.0.0 <9.0.0 !=1.5.0"
DEPENDENT = [package_required("q", "1.0.0")]
MakePackage = Callable[[int], PackageContent]
MakeDocument = Callable[[int], dict[str, Any]]
CASES: list[tuple[str, MakePackage, PackageRequest, RunningBundle | None]] = [
    ("the first installation", chain, request(), None),
    ("a step of many", chain, request(), at("1.0.0")),
    ("skipRanges that all contain the running version", lambda n: chain(n, skip_range=WIDE), request(), at("1.0.0")),
    ("skipRanges that contain every version", lambda n: chain(n, skip_range="<9.0.0"), request(">=1.0.0"), at("1.3.0")),
    ("invalid skipRanges", lambda n: chain(n, skip_range="junk {low}"), request(), at("1.0.0")),
    ("a range over a channel for each entry", lambda n: chain(n, channels=n), request(">=1.0.0"), at("1.0.0")),
    ("a pinned version that is steps away", chain, request("1.90.0"), at("1.0.0")),
    ("a downgrade", chain, request("1.2.0"), at("1.50.0")),
    ("a downgrade over a channel for each entry", lambda n: chain(n, channels=n), request("1.2.0"), at("1.50.0")),
    ("a version that does not exist", chain, request("9.9.9"), at("1.0.0")),
    ("a version that no channel has", lambda n: chain(n, channels=n), request("9.9.9"), None),
    ("a version that another channel has", lambda n: chain(n, channels=n), request("1.50.0", "c0"), None),
    ("a channel that does not exist", lambda n: chain(n, channels=n), request("", "x"), None),
    ("dependencies", lambda n: chain(n, properties=DEPENDENT), request(), None),
    ("an upgrade to dependencies", lambda n: chain(n, properties=DEPENDENT), request(), at("1.0.0")),
    ("bundles that cannot be read", lambda n: chain(n, problem="broken"), request(), at("1.0.0")),
]


@pytest.mark.parametrize(
    ("make", "requested", "running"),
    [pytest.param(make, requested, running, id=name) for name, make, requested, running in CASES],
)
def test_resolving_costs_at_most_twice_for_twice_the_size(
    make: MakePackage, requested: PackageRequest, running: RunningBundle | None
) -> None:
    def work(package: PackageContent) -> int:
        snapshot = PackageSnapshot(requested, (CatalogOffer("c", package=package),), running)
        return lines_executed(lambda: explain(resolve(snapshot)))

    small, large = make(SIZE), make(2 * SIZE)
    work(large)  # parsed ranges are cached
    assert work(large) < GROWTH_LIMIT * work(small)


def test_parsing_costs_at_most_twice_for_twice_the_size() -> None:
    assert lines_executed(lambda: chain(2 * SIZE)) < GROWTH_LIMIT * lines_executed(lambda: chain(SIZE))


@pytest.mark.parametrize(
    ("make", "spec", "runs"),
    [
        pytest.param(chain_document, {}, "", id="a first installation"),
        pytest.param(chain_document, {}, "1.0.0", id="an upgrade"),
        pytest.param(chain_document, {"version": "9.9.9"}, "", id="a version that does not exist"),
        pytest.param(chain_document, {"version": "1.2.0"}, "1.50.0", id="a downgrade"),
        pytest.param(lambda n: chain_document(1, properties=[GVK] * n), {}, "", id="properties of the bundle"),
    ],
)
def test_deciding_and_reporting_do_not_depend_on_the_size(make: MakeDocument, spec: dict[str, str], runs: str) -> None:
    def work(size: int) -> int:
        active = {"bundle_deployment": deployment(runs, active=f"alpha-{runs}")} if runs else {}
        offers = (worlds.CatalogOffer("community", package=make(size)),)
        observed = world(operator(spec), runs=bundle(runs, channel="c0") if runs else "", offers=offers, **active)

        def one_pass() -> None:
            decision = decide(observed)
            plan = decision.plan
            report(observed, decision.evaluation, plan if isinstance(plan, OlmError) else Done(plan))

        return lines_executed(one_pass)

    work(SIZE)
    assert work(2 * SIZE) == work(SIZE)
