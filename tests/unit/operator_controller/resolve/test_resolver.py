"""What holds for every decision. Single decisions are in tests/cases/resolution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from operator_controller.resolve.candidates import Candidate
from operator_controller.resolve.explain import MAX_EXPLANATION_BYTES, explain
from operator_controller.resolve.package import read_package
from operator_controller.resolve.resolution import Chosen, Kept, Resolution
from operator_controller.resolve.resolver import resolve
from operator_controller.resolve.snapshot import CatalogOffer, CatalogState, PackageRequest, RunningBundle, Snapshot
from operator_controller.resolve.version_range import MastermindsRange

VERSIONS = ["1.0.0", "1.1.0", "1.2.0-rc.1", "1.2.0", "2.0.0", "2.0.0+1"]
names = st.sampled_from([f"p.v{version}" for version in VERSIONS])


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A package of up to three channels with any edges at all."""
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
    needy = draw(st.sets(names, max_size=1))
    old = draw(st.sets(names, max_size=2))
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
                "properties": [{"type": "olm.constraint", "value": 1}] if f"p.v{version}" in needy else [],
            }
            for version in VERSIONS
        ],
        "deprecations": [{"reference": {"schema": "olm.bundle", "name": name}, "message": ""} for name in sorted(old)],
    }


@st.composite
def offers(draw: st.DrawFn) -> tuple[CatalogOffer, ...]:
    """Up to three catalogs in any state."""
    catalogs = draw(st.sets(st.sampled_from(["x", "y", "z"]), max_size=3))
    made: list[CatalogOffer] = []
    for catalog in sorted(catalogs):
        state = draw(st.sampled_from(list(CatalogState)))
        has_it = state in (CatalogState.SERVING, CatalogState.CACHED) and draw(st.booleans())
        package = read_package(draw(documents())) if has_it else None
        made.append(CatalogOffer(catalog, draw(st.integers(0, 1)), state, package, "why"))
    return tuple(made)


asked = st.builds(
    PackageRequest,
    st.just("p"),
    st.sampled_from(["", "", "a", "d"]),
    st.sampled_from([None, None, "1.0.0", ">=1.1.0", "2.0.0", "9.9.9", ">1.0.0-0"]).map(
        lambda text: MastermindsRange.parse(text) if text else None
    ),
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


def check(decision: Resolution) -> None:
    words = explain(decision)
    assert words.message
    assert len(words.text.encode()) <= MAX_EXPLANATION_BYTES
    assert words.is_resolved is isinstance(decision.outcome, Chosen | Kept)


@given(asked, offers())
def test_any_input_is_decided_and_worded_and_twice_the_same(
    request: PackageRequest, catalogs: tuple[CatalogOffer, ...]
) -> None:
    snapshot = Snapshot(request, catalogs)
    decision = resolve(snapshot)
    check(decision)
    assert resolve(snapshot) == decision


@given(asked, offers())
def test_what_is_chosen_satisfies_what_was_asked(request: PackageRequest, catalogs: tuple[CatalogOffer, ...]) -> None:
    outcome = resolve(Snapshot(request, catalogs)).outcome
    if isinstance(outcome, Chosen):
        candidate = outcome.candidate
        assert request.versions is None or request.versions.matches(candidate.version)
        assert request.channel in ("", candidate.channel)
        assert not candidate.bundle.problem
        assert not candidate.bundle.dependencies


@given(asked, offers())
def test_what_was_chosen_is_chosen_again_when_it_runs_and_each_step_is_an_improvement(
    request: PackageRequest, catalogs: tuple[CatalogOffer, ...]
) -> None:
    """Following the decisions ends, after fewer steps than there are versions, with something that stays."""
    outcome = resolve(Snapshot(request, catalogs)).outcome
    if not isinstance(outcome, Chosen):
        return
    best = outcome.candidate
    running = as_running(best)
    again = resolve(Snapshot(request, catalogs, running)).outcome
    assert isinstance(again, Chosen)
    assert again.candidate.bundle.name == best.bundle.name
    assert again.target.rank >= replace(best, catalog=again.target.catalog).rank


@given(asked, documents(), names)
def test_an_upgrade_ends_and_never_leads_to_something_worse(
    request: PackageRequest, document: dict[str, Any], start: str
) -> None:
    catalogs = (CatalogOffer("x", package=read_package(document)),)
    version = start.removeprefix("p.v")
    bundle = catalogs[0].package.bundles[start] if catalogs[0].package else None
    running = RunningBundle(start, "", "p", bundle.version if bundle else None, version, "x", "a")
    targets: list[Candidate] = []
    for _ in range(2 * len(VERSIONS)):
        decision = resolve(Snapshot(request, catalogs, running))
        check(decision)
        if not isinstance(decision.outcome, Chosen) or decision.outcome.candidate.bundle.name == running.name:
            break
        targets.append(decision.outcome.target)
        running = as_running(decision.outcome.candidate)
    else:
        raise AssertionError(f"it goes on for ever: {targets}")
    assert [one.rank for one in targets] == sorted(one.rank for one in targets)


@given(asked, offers(), offers())
def test_catalogs_that_never_served_stop_nobody(
    request: PackageRequest, catalogs: tuple[CatalogOffer, ...], others: tuple[CatalogOffer, ...]
) -> None:
    pending = tuple(CatalogOffer(f"w{one.catalog}", state=CatalogState.PENDING) for one in others)
    outcome = resolve(Snapshot(request, catalogs)).outcome
    with_them = resolve(Snapshot(request, (*catalogs, *pending))).outcome
    assert with_them == outcome
