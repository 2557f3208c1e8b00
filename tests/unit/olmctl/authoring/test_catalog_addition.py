"""What one more bundle changes of a package."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmctl.authoring.catalog_addition import NewBundle, PackageState, Refused, Wanted, plan_addition

PACKAGE = {"schema": "olm.package", "name": "p", "defaultChannel": "stable"}


def blob(version: str, image: str = "") -> dict[str, Any]:
    properties = [{"type": "olm.package", "value": {"packageName": "p", "version": version}}]
    name, image = f"p.v{version}", image or f"quay.io/a/p@sha256:{version}"
    return {"schema": "olm.bundle", "name": name, "package": "p", "image": image, "properties": properties}


def channel(name: str, *entries: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "olm.channel", "name": name, "package": "p", "entries": list(entries)}


def entry(version: str, before: str = "", **more: Any) -> dict[str, Any]:
    return {"name": f"p.v{version}", **({"replaces": f"p.v{before}"} if before else {}), **more}


STATE = PackageState(
    PACKAGE,
    {"stable": channel("stable", entry("1.0.0"), entry("1.1.0", "1.0.0"))},
    {f"p.v{version}": blob(version) for version in ("1.0.0", "1.1.0")},
)
NEW = NewBundle(blob("1.2.0"), ("stable",), "stable")


@pytest.mark.parametrize(
    ("bundle", "wanted", "entries"),
    [
        pytest.param(NEW, Wanted(), {"stable": entry("1.2.0", "1.1.0")}, id="the head is replaced"),
        pytest.param(
            replace(NEW, replaces="p.v1.1.0", skips=("p.v1.0.0",), skip_range="<1.2.0"),
            Wanted(),
            {"stable": entry("1.2.0", "1.1.0", skips=["p.v1.0.0"], skipRange="<1.2.0")},
            id="the edges of the ClusterServiceVersion",
        ),
        pytest.param(
            replace(NEW, replaces="p.v1.0.0", skips=("x",), skip_range="<1"),
            Wanted(replaces="p.v1.1.0", skips=("p.v1.0.0",), skip_range=""),
            {"stable": entry("1.2.0", "1.1.0", skips=["p.v1.0.0"])},
            id="flags come before them",
        ),
        pytest.param(
            replace(NEW, replaces="p.v1.0.0"),
            Wanted(skips=("p.v1.1.0",)),
            {"stable": entry("1.2.0", "1.0.0", skips=["p.v1.1.0"])},
            id="the head is skipped",
        ),
        pytest.param(
            NEW, Wanted(skips=("p.v1.1.0",)), {"stable": entry("1.2.0", skips=["p.v1.1.0"])}, id="only skipped"
        ),
    ],
)
def test_the_edges_of_an_entry(bundle: NewBundle, wanted: Wanted, entries: dict[str, Any]) -> None:
    found = plan_addition(STATE, bundle, wanted)
    assert (found.entries, found.bundle, found.new_package, found.new_channels) == (entries, bundle.blob, None, ())


def test_channels_are_those_of_the_flags_else_of_the_annotations() -> None:
    bundle = replace(NEW, channels=("stable", "fast"))
    found = plan_addition(STATE, bundle, Wanted())
    assert list(found.entries) == ["stable"]
    assert found.new_channels == (channel("fast", entry("1.2.0")),)
    assert found.notes == (
        "p.v1.2.0 in channel stable of p: replaces p.v1.1.0 (the head of the channel)",
        "p.v1.2.0 in the new channel fast of p",
    )
    only = plan_addition(STATE, bundle, Wanted(channels=("candidate",)))
    assert (only.entries, only.new_channels) == ({}, (channel("candidate", entry("1.2.0")),))


@pytest.mark.parametrize(
    ("bundle", "wanted", "default"),
    [
        pytest.param(replace(NEW, default_channel=""), Wanted(), "stable", id="the only channel"),
        pytest.param(replace(NEW, channels=("a", "b"), default_channel="b"), Wanted(), "b", id="of the annotations"),
        pytest.param(replace(NEW, channels=("a", "stable")), Wanted(default_channel="a"), "a", id="of the flag"),
    ],
)
def test_the_default_channel_of_a_new_package(bundle: NewBundle, wanted: Wanted, default: str) -> None:
    found = plan_addition(PackageState(), bundle, wanted)
    assert found.new_package == PACKAGE | {"defaultChannel": default}


def test_a_new_package_has_the_words_and_the_icon_of_its_bundle() -> None:
    icon = {"base64data": "aWNvbg==", "mediatype": "image/png"}
    found = plan_addition(PackageState(), replace(NEW, description="Text", icon=icon), Wanted())
    assert found.new_package == PACKAGE | {"description": "Text", "icon": icon}
    assert found.new_channels == (channel("stable", entry("1.2.0")),)


WITH_NEW = PackageState(
    PACKAGE,
    {"stable": channel("stable", *STATE.channels["stable"]["entries"], entry("1.2.0", "1.1.0"))},
    {**STATE.bundles, "p.v1.2.0": NEW.blob},
)


def test_what_is_there_is_not_added_again() -> None:
    assert plan_addition(WITH_NEW, NEW, Wanted()).is_empty
    assert plan_addition(WITH_NEW, NEW, Wanted(replaces="p.v1.1.0")).is_empty
    rendered_otherwise = replace(NEW, blob={**NEW.blob, "relatedImages": []})
    assert plan_addition(WITH_NEW, rendered_otherwise, Wanted()).is_empty


def test_what_an_interrupted_run_left_is_completed() -> None:
    only_bundle = replace(STATE, bundles=WITH_NEW.bundles)
    found = plan_addition(only_bundle, NEW, Wanted())
    assert (found.bundle, found.entries) == (None, {"stable": entry("1.2.0", "1.1.0")})


def test_a_released_bundle_changes_only_if_that_is_wanted() -> None:
    other = replace(NEW, blob=blob("1.2.0", "quay.io/a/p@sha256:other"))
    with pytest.raises(Refused, match=r"has p\.v1\.2\.0 with the image .*a bundle that was released does not change"):
        plan_addition(WITH_NEW, other, Wanted())
    found = plan_addition(WITH_NEW, other, Wanted(is_overwritten=True))
    assert (found.bundle, found.entries, found.replaced_channels) == (other.blob, {}, {})
    with pytest.raises(Refused, match="with other edges: use --overwrite"):
        plan_addition(WITH_NEW, NEW, Wanted(replaces="p.v1.0.0", skips=("p.v1.1.0",)))
    edges = Wanted(replaces="p.v1.0.0", skips=("p.v1.1.0",), is_overwritten=True)
    changed = plan_addition(WITH_NEW, NEW, edges).replaced_channels["stable"]["entries"]
    assert changed[-1] == entry("1.2.0", "1.0.0", skips=["p.v1.1.0"])
    assert len(changed) == 3


@pytest.mark.parametrize(
    ("bundle", "wanted", "words"),
    [
        pytest.param(
            replace(NEW, replaces="p.v1.0.0"),
            Wanted(),
            r"would have two heads, because no edge leads from p\.v1\.1\.0 to p\.v1\.2\.0: name it with --replaces or",
            id="it replaces another bundle than the head",
        ),
        pytest.param(NEW, Wanted(replaces=""), "would have two heads", id="it replaces nothing"),
        pytest.param(NEW, Wanted(replaces="p.v1.2.0"), "cannot replace or skip itself", id="itself"),
        pytest.param(
            replace(NEW, blob=blob("1.0.5")),
            Wanted(),
            r"p\.v1\.0\.5 has version 1\.0\.5, which is not above 1\.1\.0 of p\.v1\.1\.0",
            id="an older version than the head",
        ),
        pytest.param(replace(NEW, channels=()), Wanted(), "names no channel", id="no channel"),
        pytest.param(
            replace(NEW, blob={**NEW.blob, "name": "../../etc/x"}), Wanted(), "is no name of a bundle", id="a path"
        ),
    ],
)
def test_what_is_refused(bundle: NewBundle, wanted: Wanted, words: str) -> None:
    with pytest.raises(Refused, match=words):
        plan_addition(STATE, bundle, wanted)


@pytest.mark.parametrize(
    ("bundle", "words"),
    [
        pytest.param(
            replace(NEW, channels=("a", "b"), default_channel=""),
            "the channels a, b, and it names no default channel: use --default-channel",
            id="none of several",
        ),
        pytest.param(
            replace(NEW, default_channel="x"), 'default channel "x" is none of them', id="one that is not there"
        ),
        pytest.param(replace(NEW, blob={**NEW.blob, "package": "../p"}), "is no name of a package", id="a path"),
    ],
)
def test_new_packages_that_are_refused(bundle: NewBundle, words: str) -> None:
    with pytest.raises(Refused, match=words):
        plan_addition(PackageState(), bundle, Wanted())
