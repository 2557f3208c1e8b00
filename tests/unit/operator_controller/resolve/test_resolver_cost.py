"""How the work of a resolution grows with its package: lines of Python executed, for a package and for one twice its size.

A catalog's author decides how large a package is, and each Operator of it is resolved again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from olmkit.errors import OlmError
from olmkit.gocompat.versions import parse_version
from operator_controller.operator.decide import decide
from operator_controller.operator.report import report
from operator_controller.operator.world import Done
from operator_controller.resolve.explain import explain
from operator_controller.resolve.package import PackageContent, read_package
from operator_controller.resolve.resolver import resolve
from operator_controller.resolve.snapshot import CatalogOffer, PackageRequest, RunningBundle, Snapshot
from operator_controller.resolve.version_range import MastermindsRange
from tests.counting import lines_counted
from tests.unit.operator_controller.operator.builders import GVK, bundle, deployment, operator, world

SIZE = 100
GROWTH_LIMIT = 2.5
"""Twice the package, and a logarithm."""


def lines_executed(work: Callable[[], object]) -> int:
    with lines_counted() as lines:
        work()
    return lines.executed


def chain(size: int, channels: int = 1, **changes: Any) -> PackageContent:
    """Versions 1.0.0, 1.1.0, … that replace one another, shared out to the channels, with skips and a skipRange each."""
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
    return read_package(
        {
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
    )


def at(version: str) -> RunningBundle:
    return RunningBundle(f"p.v{version}", "r", "p", parse_version(version), version, "c", "c0")


def asks(version: str = "", channel: str = "") -> PackageRequest:
    return PackageRequest("p", channel, MastermindsRange.parse(version) if version else None)


WIDE = ">=1.0.0 <9.0.0 !=1.5.0"
NEEDY = [{"type": "olm.package.required", "value": {"packageName": "q", "versionRange": "1.0.0"}}]
Made = Callable[[int], PackageContent]
CASES: list[tuple[str, Made, PackageRequest, RunningBundle | None]] = [
    ("the first installation", chain, asks(), None),
    ("a step of many", chain, asks(), at("1.0.0")),
    ("skipRanges that all hold what runs", lambda n: chain(n, skip_range=WIDE), asks(), at("1.0.0")),
    ("skipRanges that hold every version", lambda n: chain(n, skip_range="<9.0.0"), asks(">=1.0.0"), at("1.3.0")),
    ("skipRanges that nobody can read", lambda n: chain(n, skip_range="junk {low}"), asks(), at("1.0.0")),
    ("a range over a channel for each entry", lambda n: chain(n, channels=n), asks(">=1.0.0"), at("1.0.0")),
    ("a pinned version that is steps away", chain, asks("1.90.0"), at("1.0.0")),
    ("a downgrade", chain, asks("1.2.0"), at("1.50.0")),
    ("a downgrade over a channel for each entry", lambda n: chain(n, channels=n), asks("1.2.0"), at("1.50.0")),
    ("a version that is not there", chain, asks("9.9.9"), at("1.0.0")),
    ("a version that no channel has", lambda n: chain(n, channels=n), asks("9.9.9"), None),
    ("a version that another channel has", lambda n: chain(n, channels=n), asks("1.50.0", "c0"), None),
    ("a channel that is not there", lambda n: chain(n, channels=n), asks("", "x"), None),
    ("dependencies", lambda n: chain(n, properties=NEEDY), asks(), None),
    ("an upgrade to dependencies", lambda n: chain(n, properties=NEEDY), asks(), at("1.0.0")),
    ("bundles that cannot be read", lambda n: chain(n, problem="broken"), asks(), at("1.0.0")),
]


@pytest.mark.parametrize(
    ("make", "asked", "running"), [pytest.param(make, asked, running, id=name) for name, make, asked, running in CASES]
)
def test_a_package_of_twice_the_size_takes_twice_the_work(
    make: Made, asked: PackageRequest, running: RunningBundle | None
) -> None:
    def work(package: PackageContent) -> int:
        snapshot = Snapshot(asked, (CatalogOffer("c", package=package),), running)
        return lines_executed(lambda: explain(resolve(snapshot)))

    small, large = make(SIZE), make(2 * SIZE)
    work(large)  # ranges that are remembered are no work the second time
    assert work(large) < GROWTH_LIMIT * work(small)


def test_reading_a_package_of_twice_the_size_takes_twice_the_work() -> None:
    assert lines_executed(lambda: chain(2 * SIZE)) < GROWTH_LIMIT * lines_executed(lambda: chain(SIZE))


@pytest.mark.parametrize(
    ("make", "spec", "runs"),
    [
        pytest.param(chain, {}, "", id="a first installation"),
        pytest.param(chain, {}, "1.0.0", id="an upgrade"),
        pytest.param(chain, {"version": "9.9.9"}, "", id="a version that is not there"),
        pytest.param(chain, {"version": "1.2.0"}, "1.50.0", id="a downgrade"),
        pytest.param(lambda n: chain(1, properties=[GVK] * n), {}, "", id="properties of the bundle"),
    ],
)
def test_what_is_done_and_said_looks_at_no_package(make: Made, spec: dict[str, str], runs: str) -> None:
    def work(size: int) -> int:
        active = {"bundle_deployment": deployment(runs, active=f"alpha-{runs}")} if runs else {}
        offers = (CatalogOffer("community", package=make(size)),)
        seen = world(operator(spec), runs=bundle(runs, channel="c0") if runs else "", offers=offers, **active)

        def one_pass() -> None:
            decision = decide(seen)
            plan = decision.plan
            report(seen, decision.evaluation, plan if isinstance(plan, OlmError) else Done(plan))

        return lines_executed(one_pass)

    work(SIZE)
    assert work(2 * SIZE) == work(SIZE)
