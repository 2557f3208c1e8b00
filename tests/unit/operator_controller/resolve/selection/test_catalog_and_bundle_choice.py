"""Properties of every resolution. Single cases are in tests/cases/resolution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.version_range import MastermindsRange
from operator_controller.resolve.documents.document_reader import read_package
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES, explain
from operator_controller.resolve.selection.catalog_and_bundle_choice import is_same_bundle, permitted
from operator_controller.resolve.selection.package_resolution import Candidate, Chosen, Kept, PackageResolution
from operator_controller.resolve.snapshot.cluster_snapshot import excluded_precedences
from operator_controller.resolve.snapshot.package_snapshot import (
    ALL_CHANNELS,
    CatalogOffer,
    CatalogState,
    PackageRequest,
    PackageSnapshot,
    RunningBundle,
)
from tests.unit.operator_controller.resolve.selection.one_package import resolve

VERSIONS = ["1.0.0", "1.1.0", "1.2.0-rc.1", "1.2.0", "2.0.0", "2.0.0+1"]
names = st.sampled_from([f"p.v{version}" for version in VERSIONS])


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A package with up to three channels and any edges."""
    entry = st.fixed_dictionaries(
        {"name": names},
        optional={
            "replaces": names,
            "skips": st.lists(names, max_size=2),
            "skipRange": st.sampled_from(["<2.0.0", ">=1.0.0 <1.2.0", "junk"]),
        },
    )
    channels = draw(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.lists(entry, max_size=6), max_size=3))
    broken = draw(st.sets(names, max_size=2))
    dependent = draw(st.sets(names, max_size=1))
    deprecated = draw(st.sets(names, max_size=2))
    return {
        "package": "p",
        "defaultChannel": draw(st.sampled_from(["a", "b", ""])),
        "channels": [{"name": name, "entries": entries} for name, entries in channels.items()],
        "bundles": [
            {
                "name": f"p.v{version}",
                "version": version,
                "image": f"r/p:{version}",
                "problem": "broken" if f"p.v{version}" in broken else "",
                "properties": [{"type": "olm.constraint", "value": 1}] if f"p.v{version}" in dependent else [],
            }
            for version in VERSIONS
        ],
        "deprecations": [
            {"reference": {"schema": "olm.bundle", "name": name}, "message": ""} for name in sorted(deprecated)
        ],
    }


@st.composite
def offers(draw: st.DrawFn) -> tuple[CatalogOffer, ...]:
    """Up to three catalogs in any state."""
    catalogs = draw(st.sets(st.sampled_from(["x", "y", "z"]), max_size=3))
    found: list[CatalogOffer] = []
    for catalog in sorted(catalogs):
        state = draw(st.sampled_from(list(CatalogState)))
        has_it = state in (CatalogState.SERVING, CatalogState.CACHED) and draw(st.booleans())
        package = read_package(draw(documents())) if has_it else None
        found.append(CatalogOffer(catalog, draw(st.integers(0, 1)), state, package, "why"))
    return tuple(found)


requests = st.builds(
    PackageRequest,
    st.just("p"),
    st.sampled_from([(), (), ("a",), ("d",), ("a", "b"), ("b", "d"), ALL_CHANNELS]),
    st.sampled_from([None, None, "1.0.0", ">=1.1.0", "2.0.0", "9.9.9", ">1.0.0-0"]).map(
        lambda text: MastermindsRange.parse(text) if text else None
    ),
    excluded=st.sets(st.sampled_from(VERSIONS), max_size=3).map(excluded_precedences),
)


def as_running(candidate: Candidate, channel: str = "") -> RunningBundle:
    return RunningBundle(
        candidate.bundle.name,
        candidate.bundle.image,
        "p",
        candidate.version,
        str(candidate.version),
        candidate.catalog,
        channel or candidate.channel,
    )


def check(resolution: PackageResolution) -> None:
    explanation = explain(resolution)
    assert explanation.message
    assert len(explanation.text.encode()) <= MAX_EXPLANATION_BYTES
    assert explanation.is_resolved is isinstance(resolution.outcome, Chosen | Kept)


@given(requests, offers())
def test_any_input_is_resolved_and_explained_and_twice_the_same(
    request: PackageRequest, catalogs: tuple[CatalogOffer, ...]
) -> None:
    snapshot = PackageSnapshot(request, catalogs)
    resolution = resolve(snapshot)
    check(resolution)
    assert resolve(snapshot) == resolution


@given(requests, offers())
def test_a_chosen_bundle_satisfies_the_request(request: PackageRequest, catalogs: tuple[CatalogOffer, ...]) -> None:
    outcome = resolve(PackageSnapshot(request, catalogs)).outcome
    if isinstance(outcome, Chosen):
        candidate = outcome.candidate
        assert request.versions is None or request.versions.matches(candidate.version)
        assert not request.excludes(candidate.version)
        assert not request.named_channels or candidate.channel in request.named_channels
        assert not candidate.bundle.problem
        assert not candidate.bundle.dependencies


@given(requests, offers())
def test_a_chosen_bundle_is_chosen_again_when_it_runs(
    request: PackageRequest, catalogs: tuple[CatalogOffer, ...]
) -> None:
    """The first step from it leads to the same bundle, and the target is not worse."""
    outcome = resolve(PackageSnapshot(request, catalogs)).outcome
    if not isinstance(outcome, Chosen):
        return
    best = outcome.candidate
    running = as_running(best)
    again = resolve(PackageSnapshot(request, catalogs, running)).outcome
    assert isinstance(again, Chosen)
    assert again.candidate.bundle.name == best.bundle.name
    assert again.target.rank >= replace(best, catalog=again.target.catalog).rank


@given(requests, documents(), names)
def test_upgrades_end_and_never_lead_to_a_worse_bundle(
    request: PackageRequest, document: dict[str, Any], start: str
) -> None:
    catalogs = (CatalogOffer("x", package=read_package(document)),)
    version = start.removeprefix("p.v")
    bundle = catalogs[0].package.bundles[start] if catalogs[0].package else None
    running = RunningBundle(start, "", "p", bundle.version if bundle else None, version, "x", "a")
    targets: list[Candidate] = []
    for _ in range(2 * len(VERSIONS)):
        resolution = resolve(PackageSnapshot(request, catalogs, running))
        check(resolution)
        if not isinstance(resolution.outcome, Chosen) or resolution.outcome.candidate.bundle.name == running.name:
            break
        targets.append(resolution.outcome.target)
        running = as_running(resolution.outcome.candidate)
    else:
        raise AssertionError(f"upgrades do not end: {targets}")
    assert [one.rank for one in targets] == sorted(one.rank for one in targets)


@given(requests, documents(), names, st.sets(names), st.data())
def test_permitted_steps_never_return_to_a_bundle_whichever_of_them_the_requirements_leave(
    request: PackageRequest, document: dict[str, Any], start: str, excluded: set[str], data: st.DataObject
) -> None:
    """The requirements exclude some bundles. A step below the running bundle is made only if they exclude that one."""
    package = read_package(document)
    version = package.bundles[start].version
    running = RunningBundle(start, "", "p", version, start.removeprefix("p.v"), "x", "a")
    seen: list[str] = []
    while running.name not in seen:
        seen.append(running.name)
        choices = permitted(PackageSnapshot(request, (CatalogOffer("x", package=package),), running)).choices
        stays = [index for index, one in enumerate(choices) if is_same_bundle(one.candidate, running)]
        least = stays[0] if stays and running.name not in excluded else 0
        left = [one for one in choices[least:] if one.candidate.bundle.name not in excluded]
        step = data.draw(st.sampled_from(left)).candidate if left else None
        if step is None or is_same_bundle(step, running):
            return
        running = as_running(step)
    raise AssertionError(f"{running.name} again: {seen}")


@given(requests, offers(), offers())
def test_catalogs_that_are_not_served_yet_change_no_outcome(
    request: PackageRequest, catalogs: tuple[CatalogOffer, ...], others: tuple[CatalogOffer, ...]
) -> None:
    pending = tuple(CatalogOffer(f"w{one.catalog}", state=CatalogState.PENDING) for one in others)
    outcome = resolve(PackageSnapshot(request, catalogs)).outcome
    with_them = resolve(PackageSnapshot(request, (*catalogs, *pending))).outcome
    assert with_them == outcome
