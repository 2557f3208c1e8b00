"""Blobs to the files of a content: what is kept verbatim, what is derived, and what a bad blob costs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from catalogd.content import BLOBS, Content
from catalogd.specs import fingerprint
from catalogd.writing import PROBLEMS_KEPT, Writer
from olmkit.fbc.blobs import Blob, blob
from olmkit.fbc.documents import Document

DIGEST = "sha256:" + "c" * 64
Value = dict[str, Any]


def package(name: str, **more: Any) -> Value:
    return {"schema": "olm.package", "name": name, "defaultChannel": "stable", **more}


def channel(package: str, *bundles: str, name: str = "stable", **more: Any) -> Value:
    return {
        "schema": "olm.channel",
        "package": package,
        "name": name,
        "entries": [{"name": each} for each in bundles],
        **more,
    }


def bundle(package: str, version: str, **more: Any) -> Value:
    own = {"type": "olm.package", "value": {"packageName": package, "version": version}}
    name = f"{package}.v{version}"
    return {"schema": "olm.bundle", "package": package, "name": name, "image": f"i/{name}", "properties": [own], **more}


def blobs(values: Iterable[Mapping[str, Any]]) -> list[Blob]:
    return [blob(Document(dict(value), b"", 1)) for value in values]


def content(folder: Path, *values: Mapping[str, Any]) -> Content:
    """What is found after these blobs were written."""
    with Writer(folder, DIGEST) as writer:
        for each in blobs(values):
            writer.add(each)
        told = writer.finish()
    found = Content(folder)
    assert found.summary == told
    return found


def resolution(found: Content, name: str) -> Value:
    place = found.resolution(name)
    assert place is not None
    start, length = place
    document: Value = json.loads(found.resolutions.read_bytes()[start : start + length])
    return document


GOOD = [package("p", description="d"), channel("p", "p.v1.0.0"), bundle("p", "1.0.0"), {"schema": "my.own", "x": 1}]


def test_blobs_are_kept_as_their_lines_in_their_order(tmp_path: Path) -> None:
    content(tmp_path, *GOOD)
    assert (tmp_path / BLOBS).read_bytes() == b"".join(each.line for each in blobs(GOOD))


def test_nothing_but_the_content_is_left_in_the_folder(tmp_path: Path) -> None:
    content(tmp_path, *GOOD)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("all.jsonl", "content.json", "index.json", "packages.jsonl", "resolution.jsonl")
    ]


def test_a_good_catalog_is_counted_and_offered(tmp_path: Path) -> None:
    found = content(tmp_path, *GOOD, package("a"))
    summary = found.summary
    assert (summary.package_names, summary.bundle_count, summary.blob_count) == (("a", "p"), 1, 5)
    assert (summary.problem_count, summary.problems, summary.notes) == (0, (), ())
    spec = found.package_spec("p")
    assert (spec["packageName"], spec["description"], spec["channels"][0]["name"]) == ("p", "d", "stable")
    assert [offer.fingerprint for offer in found.offers if offer.package == "p"] == [fingerprint(spec)]
    assert resolution(found, "p")["bundles"][0]["version"] == "1.0.0"
    assert found.resolution("q") is None


def test_a_package_whose_blobs_are_scattered_is_whole(tmp_path: Path) -> None:
    found = content(
        tmp_path, bundle("p", "1.0.0"), package("q"), channel("p", "p.v1.0.0"), bundle("p", "2.0.0"), package("p")
    )
    assert [each["version"] for each in resolution(found, "p")["bundles"]] == ["1.0.0", "2.0.0"]
    assert found.summary.problem_count == 0


@pytest.mark.parametrize(
    ("values", "problems", "against"),
    [
        pytest.param(
            [package("p"), {**bundle("p", "1.0.0"), "image": 5}],
            ['parse bundle: package "p", bundle "p.v1.0.0": field "image" must be a string, not a number'],
            ['parse bundle: package "p", bundle "p.v1.0.0": field "image" must be a string, not a number'],
            id="a bundle that cannot be read costs itself",
        ),
        pytest.param(
            [package("p"), {**bundle("p", "1.0.0"), "properties": []}],
            ['package "p" bundle "p.v1.0.0" must have exactly 1 "olm.package" property, found 0'],
            ['package "p" bundle "p.v1.0.0" must have exactly 1 "olm.package" property, found 0'],
            id="a bundle without version costs itself",
        ),
        pytest.param(
            [package("p", description=5), bundle("p", "1.0.0")],
            ['parse package: package "p": field "description" must be a string, not a number'],
            ['parse package: package "p": field "description" must be a string, not a number'],
            id="a package that cannot be read costs its bundles",
        ),
        pytest.param(
            [package("p"), channel("p", entries={}), bundle("p", "1.0.0")],
            ['parse channel: package "p", channel "stable": field "entries" must be a list, not a mapping'],
            ['parse channel: package "p", channel "stable": field "entries" must be a list, not a mapping'],
            id="a channel that cannot be read costs its package's bundles",
        ),
        pytest.param(
            [package("p"), {"schema": "olm.deprecations", "package": "p", "entries": 1}, bundle("p", "1.0.0")],
            ['parse deprecation: package "p": field "entries" must be a list, not a number'],
            ['parse deprecation: package "p": field "entries" must be a list, not a number'],
            id="deprecations that cannot be read cost their package's bundles",
        ),
        pytest.param(
            [channel("p", "p.v1.0.0"), bundle("p", "1.0.0")],
            ['unknown package "p" for channel "stable"', 'unknown package "p" for bundle "p.v1.0.0"'],
            ['unknown package "p"'],
            id="a package that is not there is named",
        ),
        pytest.param([package("p"), package("p")], ['duplicate package "p"'], [], id="a package that is there twice"),
        pytest.param(
            [package("p"), channel("p"), channel("p")],
            ['package "p" has duplicate channel "stable"'],
            [],
            id="a channel that is there twice",
        ),
        pytest.param(
            [package("p"), bundle("p", "1.0.0"), bundle("p", "1.0.0", image="later")],
            ['package "p" has duplicate bundle "p.v1.0.0"'],
            [None],
            id="a bundle that is there twice counts as it is the second time",
        ),
    ],
)
def test_what_is_wrong_with_a_package_is_counted_and_costs_nobody_else(
    tmp_path: Path, values: list[Value], problems: list[str], against: list[str | None]
) -> None:
    found = content(tmp_path, *values, package("other"), bundle("other", "1.0.0"))
    assert list(found.summary.problems) == problems
    assert found.summary.problem_count == len(problems)
    assert [each.get("problem") for each in resolution(found, "p")["bundles"]] == against
    assert "problem" not in resolution(found, "other")["bundles"][0]
    assert len((tmp_path / BLOBS).read_bytes().splitlines()) == len(values) + 2


def test_blobs_of_no_package_are_counted_and_offered_to_nobody(tmp_path: Path) -> None:
    found = content(tmp_path, package(""), bundle("", "1.0.0"), package("p"))
    assert found.summary.problems == (
        "config contains package with no name",
        'package name must be set for bundle ".v1.0.0"',
    )
    assert found.summary.package_names == ("p",)
    assert found.resolution("") is None


def test_only_the_first_problems_are_kept_but_all_are_counted(tmp_path: Path) -> None:
    found = content(tmp_path, *(bundle("p", f"1.0.{number}") for number in range(PROBLEMS_KEPT + 5)))
    assert len(found.summary.problems) == PROBLEMS_KEPT
    assert found.summary.problem_count == PROBLEMS_KEPT + 5


def test_a_package_that_is_too_large_for_an_object_says_what_it_lost(tmp_path: Path) -> None:
    found = content(tmp_path, package("p", icon={"base64data": "x" * 2_000_000, "mediatype": "image/png"}))
    assert found.summary.notes == ('the Package of "p" is too large and does without its icon',)
    assert "icon" not in found.package_spec("p")


def test_files_that_do_not_belong_together_are_noticed(tmp_path: Path) -> None:
    content(tmp_path, *GOOD)
    (tmp_path / "index.json").write_bytes(b"{")
    with pytest.raises(ValueError, match="unexpected end of data"):
        Content(tmp_path)
