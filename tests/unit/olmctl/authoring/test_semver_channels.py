"""The channels and edges that a semver template makes of versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from olmctl.authoring.semver_channels import MAJOR, MINOR, BadVersions, Channels, VersionedBundle, channels_of
from olmkit.gocompat.versions import parse_version


def made(kinds: Sequence[str] = (MINOR,), preferred: str = MINOR, **lists: str) -> Channels:
    """The channels of lists of versions, which are separated by blanks."""
    bundles = {
        name: [VersionedBundle(f"a.v{each.partition('+')[0]}", parse_version(each)) for each in text.split()]
        for name, text in lists.items()
    }
    return channels_of("a", bundles, kinds, preferred)


def shown(channels: Channels) -> dict[str, list[str]]:
    """The entries by channel: the version, what it replaces, what it skips."""
    return {each["name"]: [_shown(entry) for entry in each["entries"]] for each in channels.blobs}


def _shown(entry: dict[str, Any]) -> str:
    skips = " ".join(entry.get("skips", ()))
    return f"{entry['name']} > {entry.get('replaces', '')} - {skips}".replace("a.v", "").rstrip("- >")


def test_the_last_one_of_a_minor_version_skips_what_is_below_it() -> None:
    found = made((MAJOR,), MAJOR, stable="0.1.1 0.1.0 1.1.0 1.2.1 1.3.1-beta 1.3.1 2.3.1 2.3.2 2.1.0 2.1.1")
    assert shown(found) == {
        "stable-v0": ["0.1.0", "0.1.1 >  - 0.1.0"],
        "stable-v1": ["1.1.0", "1.2.1 > 1.1.0", "1.3.1-beta", "1.3.1 > 1.2.1 - 1.1.0 1.3.1-beta"],
        "stable-v2": ["2.1.0", "2.1.1 >  - 2.1.0", "2.3.1", "2.3.2 > 2.1.1 - 2.1.0 2.3.1"],
    }
    assert (found.default, found.blobs[0]["schema"], found.blobs[0]["package"]) == ("stable-v2", "olm.channel", "a")


def test_minor_channels_have_the_edges_between_them() -> None:
    found = made(candidate="1.0.0 1.1.0 1.1.1", stable="1.0.0")
    assert shown(found) == {
        "candidate-v1.0": ["1.0.0"],
        "candidate-v1.1": ["1.1.0", "1.1.1 > 1.0.0 - 1.1.0"],
        "stable-v1.0": ["1.0.0"],
    }


@pytest.mark.parametrize(
    ("kinds", "preferred", "lists", "default"),
    [
        pytest.param((MINOR,), MINOR, {"candidate": "9.0.0", "fast": "1.0.0"}, "fast-v1.0", id="the most stable list"),
        pytest.param((MINOR,), MINOR, {"fast": "1.9.0 1.10.0"}, "fast-v1.10", id="there the highest version"),
        pytest.param((MAJOR, MINOR), MAJOR, {"stable": "1.0.0"}, "stable-v1", id="of the kind that is preferred"),
        pytest.param((MAJOR, MINOR), MINOR, {"stable": "1.0.0"}, "stable-v1.0", id="of the other kind"),
        pytest.param(
            (MAJOR, MINOR),
            MAJOR,
            {"stable": "1.0.0 1.1.0"},
            "stable-v1.1",
            id="a channel begins with its lowest version",
        ),
        pytest.param((MINOR,), MINOR, {"candidate": "0.0.0-alpha"}, "candidate-v0.0", id="a prerelease of nothing"),
    ],
)
def test_the_default_channel(kinds: Sequence[str], preferred: str, lists: dict[str, str], default: str) -> None:
    assert made(kinds, preferred, **lists).default == default


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        pytest.param("1.0.0 1.0.0", 'duplicate bundle name "a.v1.0.0"', id="a bundle twice"),
        pytest.param(
            "1.0.0-a+1 1.0.0-a.0 1.0.0-a+2", 'duplicate bundle name "a.v1.0.0-a"', id="one name, two versions"
        ),
    ],
)
def test_versions_without_an_order(versions: str, words: str) -> None:
    with pytest.raises(BadVersions, match=words):
        made(stable=versions)


def test_versions_that_differ_by_build_metadata() -> None:
    bundles = [VersionedBundle(f"a.{build}", parse_version(f"1.0.0+{build}")) for build in ("x", "y")]
    with pytest.raises(BadVersions, match="differ only by build metadata, which cannot be ordered"):
        channels_of("a", {"fast": bundles}, (MINOR,), MINOR)
