"""The check of one package at a time, as catalogd uses it: all problems are found, and only those that are read are formatted."""

from __future__ import annotations

import pytest

from olmkit.fbc import catalog
from olmkit.fbc.checks.package_check import CheckedBundle, LoadStep, PackageBlobs, Problem, check_bundle, check_package
from tests.unit.olmkit.fbc.blob_builders import bundle, channel, deprecated, deprecations, entry, package


def numbered_channels(*values: dict[str, object]) -> list[tuple[int, catalog.Channel]]:
    return [(number, catalog.channel(value)) for number, value in enumerate(values)]


def numbered_bundles(*values: dict[str, object]) -> list[tuple[int, CheckedBundle]]:
    return [(number, check_bundle(catalog.bundle(value))) for number, value in enumerate(values)]


PACKAGE = (0, catalog.package(package()))


def test_a_valid_package_has_no_problems() -> None:
    result = check_package(
        PackageBlobs("p", [PACKAGE], numbered_channels(channel("b")), numbered_bundles(bundle("b")), [])
    )
    assert (result.count, result.tree, list(result.sentences())) == (0, None, [])


def test_all_problems_of_the_load_checks_are_found_in_opms_order() -> None:
    result = check_package(
        PackageBlobs(
            "p",
            [PACKAGE, (3, catalog.package(package()))],
            numbered_channels(channel("b", "b"), channel(name=""), channel("a")),
            numbered_bundles(bundle("b", "1"), bundle("x"), bundle("b")),
            [(1, catalog.deprecations(deprecations(deprecated("olm.bundle", "y"), deprecated("olm.channel", "z"))))],
        )
    )
    assert [problem.position for problem in result.problems] == sorted(problem.position for problem in result.problems)
    assert list(result.sentences()) == [
        'duplicate package "p"',
        'invalid package "p", channel "c": duplicate entry "b"',
        'package "p" contains channel with no name',
        'package "p" has duplicate channel "c"',
        'error parsing bundle "b" version "1": No Major.Minor.Patch elements found',
        'package "p", bundle "x" not found in any channel entries',
        'package "p" has duplicate bundle "b"',
        'no olm.bundle blobs found in package "p" for olm.channel entries [a]',
        'cannot deprecate bundle "y" for package "p": bundle not found',
        'cannot deprecate channel "z" for package "p": channel not found',
    ]
    assert result.count == 10
    assert result.tree is None


def test_of_a_package_that_is_only_mentioned_every_mention_is_a_problem() -> None:
    result = check_package(
        PackageBlobs(
            "q",
            [],
            numbered_channels(channel("b", package="q")),
            numbered_bundles(bundle("b", package="q")),
            [(0, catalog.deprecations(deprecations(package="q")))],
        )
    )
    assert list(result.sentences()) == [
        'unknown package "q" for channel "c"',
        'unknown package "q" for bundle "b"',
        'cannot apply deprecations to an unknown package "q"',
    ]


def test_errors_of_blobs_are_the_only_problems_of_a_package() -> None:
    faults = ["parse channel: json: …", "parse bundle: json: …"]
    result = check_package(PackageBlobs("p", [PACKAGE], [], [], [], list(enumerate(faults))))
    assert list(result.sentences()) == faults
    assert result.problems[0].position == (LoadStep.READING, 0, 0)


def test_an_unknown_package_without_blobs_has_no_problems() -> None:
    assert check_package(PackageBlobs("p", [], [], [], [])).count == 0


def test_bundle_parts_go_to_json_and_back() -> None:
    part = check_bundle(catalog.bundle(bundle("b", "1.0.0+x", release="2")))
    assert CheckedBundle.from_json(part.to_json()) == part


@pytest.mark.timeout(120)
def test_counting_makes_no_text() -> None:
    """A hundred thousand problems with a name of megabytes each would be four hundred gigabytes."""
    name = "n" * 4_000_000
    twice = catalog.Channel(name, "p", (catalog.Entry("e", "", (), ""),) * 100_000)
    result = check_package(PackageBlobs("p", [PACKAGE], [(0, twice)], numbered_bundles(bundle("e")), []))
    assert result.count == 99_999
    assert len(next(result.sentences())) > len(name)


@pytest.mark.timeout(120)
def test_a_channel_of_a_hundred_thousand_bundles_in_one_chain() -> None:
    names = [f"b{at}" for at in range(100_000)]
    entries = tuple(catalog.Entry(name, below, (), "<1.0.0") for name, below in zip(names[1:], names[:-1], strict=True))
    whole = catalog.Channel("c", "p", (catalog.Entry("b0", "", (), ""), *entries))
    parts = [(at, CheckedBundle(name, "p", "", f"1.0.{at}", "", has_content=True)) for at, name in enumerate(names)]
    assert check_package(PackageBlobs("p", [PACKAGE], [(0, whole)], parts, [])).count == 0
    broken = [(at, CheckedBundle(name, "p", "", "1.0.0", "", has_content=False)) for at, name in enumerate(names)]
    result = check_package(PackageBlobs("p", [PACKAGE], [(0, whole)], broken, []))
    assert result.count == 100_001
    assert result.tree is not None
    assert result.tree.text().count("\n") == 200_003 - 1


def test_quoted_arguments_are_not_formatted() -> None:
    assert Problem((LoadStep.READING, 0, 0), "%s", ("100%q",)).text == "100%q"


def test_entries_keep_their_order_in_the_tree() -> None:
    edges = [entry("z", skips=("y", "x")), entry("y"), entry("x")]
    values = [bundle(name, f"{at}.0.0", image="") for at, name in enumerate("xyz")]
    result = check_package(
        PackageBlobs("p", [PACKAGE], numbered_channels(channel(*edges)), numbered_bundles(*values), [])
    )
    assert [sentence.split('"')[5] for sentence in result.sentences()] == ["z", "y", "x"]
