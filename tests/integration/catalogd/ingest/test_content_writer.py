"""Blobs to the files of a content: what is kept verbatim, what is derived, and what a bad blob costs."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from catalogd.ingest.content import BLOBS_FILE, Content
from catalogd.ingest.content_writer import ContentWriter
from catalogd.ingest.package_index import MAX_PROBLEMS
from catalogd.ingest.package_objects import fingerprint
from olmkit.api.package_annotations import CHANNELS_ANNOTATION, LATEST_VERSION_ANNOTATION, VERSIONS_ANNOTATION
from olmkit.fbc import documents
from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.documents import Document
from olmkit.fbc.errors import BadCatalog
from olmkit.store.checksums import compute_checksums
from operator_controller.resolve.documents.document_reader import read_package
from operator_controller.resolve.package.package_content import PackageTooLarge

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


def whole(name: str, *versions: str) -> list[Value]:
    """A package with nothing wrong."""
    names = [f"{name}.v{version}" for version in versions or ("1.0.0",)]
    edges = [
        {"name": each, **({"replaces": below} if below else {})}
        for each, below in zip(names, [*names[1:], ""], strict=True)
    ]
    return [
        package(name),
        {**channel(name), "entries": edges},
        *(bundle(name, version) for version in versions or ("1.0.0",)),
    ]


def blobs(values: Iterable[Mapping[str, Any]]) -> list[Blob]:
    return [parse_blob(Document(dict(value), b"", 1)) for value in values]


def content(directory: Path, *values: Mapping[str, Any]) -> Content:
    """What is found after these blobs were written."""
    with ContentWriter(directory, DIGEST) as writer:
        for each in blobs(values):
            writer.add(each)
        summary = writer.finish()
    found = Content(directory)
    assert found.summary == summary
    return found


def resolution(found: Content, name: str) -> Value:
    place = found.resolution_range(name)
    assert place is not None
    start, length = place
    document: Value = json.loads(found.resolution_path.read_bytes()[start : start + length])
    return document


GOOD = [package("p", description="d"), channel("p", "p.v1.0.0"), bundle("p", "1.0.0"), {"schema": "my.own", "x": 1}]


def test_blobs_are_kept_as_their_lines_in_their_order(tmp_path: Path) -> None:
    content(tmp_path, *GOOD)
    assert (tmp_path / BLOBS_FILE).read_bytes() == b"".join(each.line for each in blobs(GOOD))


def test_nothing_but_the_content_is_left_in_the_directory(tmp_path: Path) -> None:
    content(tmp_path, *GOOD)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("all.jsonl", "content.json", "icons", "index.json", "manifests.jsonl", "packages.jsonl"),
        *("resolution.jsonl", "summaries.json"),
    ]


def test_a_good_catalog_is_counted_and_offered(tmp_path: Path) -> None:
    found = content(tmp_path, *GOOD, *whole("a"))
    summary = found.summary
    assert (summary.package_names, summary.bundle_count, summary.blob_count) == (("a", "p"), 2, 7)
    assert (summary.problem_count, summary.problems, summary.notes) == (0, (), ())
    package = found.package_object("p")
    spec = package["spec"]
    assert (spec["packageName"], spec["description"], spec["channels"][0]["name"]) == ("p", "d", "stable")
    assert [offer.fingerprint for offer in found.package_fingerprints if offer.package == "p"] == [fingerprint(package)]
    assert package["metadata"] == {
        "annotations": {LATEST_VERSION_ANNOTATION: "1.0.0", CHANNELS_ANNOTATION: "stable", VERSIONS_ANNOTATION: "1.0.0"}
    }
    assert resolution(found, "p")["bundles"][0]["version"] == "1.0.0"
    assert found.resolution_range("q") is None


def test_a_package_whose_blobs_are_scattered_is_whole(tmp_path: Path) -> None:
    found = content(
        tmp_path,
        bundle("p", "1.0.0"),
        *whole("q"),
        channel("p", "p.v2.0.0", "p.v1.0.0"),
        bundle("p", "2.0.0"),
        package("p"),
    )
    assert [each["version"] for each in resolution(found, "p")["bundles"]] == ["1.0.0", "2.0.0"]
    assert found.summary.problems == (
        'invalid package "p": invalid channel "stable": multiple channel heads found in graph: p.v1.0.0, p.v2.0.0',
    )


BUNDLE = (
    "parse bundle: json: cannot unmarshal number into Go struct field Bundle.image of type string"
    ' (package "p", bundle "p.v1.0.0")'
)
UNVERSIONED = 'package "p" bundle "p.v1.0.0" must have exactly 1 "olm.package" property, found 0'
PACKAGE = (
    'parse package: json: cannot unmarshal number into Go struct field Package.description of type string (package "p")'
)
CHANNEL = (
    "parse channel: json: cannot unmarshal object into Go struct field Channel.entries of type []declcfg.ChannelEntry"
    ' (package "p", channel "stable")'
)
DEPRECATION = (
    "parse deprecation: json: cannot unmarshal number into Go struct field Deprecation.entries of type"
    ' []declcfg.DeprecationEntry (package "p")'
)


@pytest.mark.parametrize(
    ("values", "problems", "against"),
    [
        pytest.param(
            [package("p"), channel("p", "p.v1.0.0"), {**bundle("p", "1.0.0"), "image": 5}],
            [BUNDLE],
            [BUNDLE],
            id="a bundle that cannot be read costs itself",
        ),
        pytest.param(
            [package("p"), channel("p", "p.v1.0.0"), {**bundle("p", "1.0.0"), "properties": []}],
            [UNVERSIONED],
            [UNVERSIONED],
            id="a bundle without version costs itself",
        ),
        pytest.param(
            [package("p", description=5), channel("p", "p.v1.0.0"), bundle("p", "1.0.0")],
            [PACKAGE],
            [f'{PACKAGE}; unknown package "p"'],
            id="a package that cannot be read costs its bundles",
        ),
        pytest.param(
            [package("p"), channel("p", entries={}), bundle("p", "1.0.0")],
            [CHANNEL],
            [CHANNEL],
            id="a channel that cannot be read costs its package's bundles",
        ),
        pytest.param(
            [*whole("p"), {"schema": "olm.deprecations", "package": "p", "entries": 1}],
            [DEPRECATION],
            [DEPRECATION],
            id="deprecations that cannot be read cost their package's bundles",
        ),
        pytest.param(
            whole("p")[1:],
            ['unknown package "p" for channel "stable"', 'unknown package "p" for bundle "p.v1.0.0"'],
            ['unknown package "p"'],
            id="a package that is not there is named",
        ),
        pytest.param(
            [package("p"), *whole("p")], ['duplicate package "p"'], [None], id="a package that is there twice"
        ),
        pytest.param(
            [*whole("p"), whole("p")[1]],
            ['package "p" has duplicate channel "stable"'],
            [None],
            id="a channel that is there twice",
        ),
        pytest.param(
            [*whole("p"), bundle("p", "1.0.0", image="later")],
            ['package "p" has duplicate bundle "p.v1.0.0"'],
            [None],
            id="a bundle that is there twice counts as it is the second time",
        ),
        pytest.param(
            [
                package("p"),
                {**channel("p"), "entries": [{"name": "a", "replaces": "b"}, {"name": "b", "replaces": "a"}]},
            ]
            + [{**bundle("p", version), "name": name} for name, version in (("a", "1.0.0"), ("b", "1.0.0"))],
            [
                'invalid package "p": invalid channel "stable": no channel head found in graph',
                'invalid package "p": duplicate versions found in bundles: [{1.0.0: [a, b]}]',
            ],
            [None, None],
            id="what the check finds in the graph",
        ),
    ],
)
def test_problems_of_a_package_are_counted_and_affect_no_other(
    tmp_path: Path, values: list[Value], problems: list[str], against: list[str | None]
) -> None:
    found = content(tmp_path, *values, *whole("other"))
    assert sorted(found.summary.problems) == sorted(problems)
    assert found.summary.problem_count == len(problems)
    assert [each.get("problem") for each in resolution(found, "p")["bundles"]] == against
    assert "problem" not in resolution(found, "other")["bundles"][0]
    assert len((tmp_path / BLOBS_FILE).read_bytes().splitlines()) == len(values) + 3


def test_of_repeated_blobs_the_last_counts(tmp_path: Path) -> None:
    second = [bundle("p", "1.0.0", image="later"), package("p", description="later"), channel("p", "p.v1.0.0", "x")]
    found = content(tmp_path, *whole("p"), *second)
    document = resolution(found, "p")
    assert [each["image"] for each in document["bundles"]] == ["later"]
    assert [[entry["name"] for entry in each["entries"]] for each in document["channels"]] == [["p.v1.0.0", "x"]]
    assert found.package_object("p")["spec"]["description"] == "later"


def test_blobs_of_no_package_are_counted_and_not_offered(tmp_path: Path) -> None:
    found = content(tmp_path, package(""), bundle("", "1.0.0"), *whole("p"))
    assert found.summary.problems == (
        "config contains package with no name",
        'package name must be set for bundle ".v1.0.0"',
    )
    assert found.summary.package_names == ("p",)
    assert found.resolution_range("") is None


def test_only_the_first_problems_are_kept_but_all_are_counted(tmp_path: Path) -> None:
    found = content(tmp_path, *(bundle("p", f"1.0.{number}") for number in range(MAX_PROBLEMS + 5)))
    assert len(found.summary.problems) == MAX_PROBLEMS
    assert found.summary.problem_count == MAX_PROBLEMS + 5


def test_a_package_that_is_too_large_for_an_object_names_what_was_left_out(tmp_path: Path) -> None:
    found = content(tmp_path, package("p", icon={"base64data": "x" * 2_000_000, "mediatype": "image/png"}))
    assert found.summary.notes == ('the Package of "p" is too large and does without its icon',)
    assert "icon" not in found.package_object("p")["spec"]


def written(directory: Path, ranges: list[range], *values: Value) -> Content:
    """The same blobs in another order than they came."""
    with ContentWriter(directory, DIGEST) as writer:
        for each in blobs(values):
            writer.add(each)
        writer.finish(ranges)
        assert writer.checksums[BLOBS_FILE] == compute_checksums(directory, DIGEST).files[BLOBS_FILE]
    return Content(directory)


@pytest.mark.parametrize(
    "ranges",
    [
        pytest.param([range(0, 3), range(3, 6)], id="as they came"),
        pytest.param([range(3, 6), range(0, 3)], id="the later file first"),
        pytest.param([range(0, 0), range(3, 6)], id="without what does not count"),
        pytest.param([range(0, 3), range(3, 6), range(0, 3)], id="a file under two names"),
        pytest.param([], id="nothing"),
    ],
)
def test_blobs_are_written_in_the_order_given_at_the_end(tmp_path: Path, ranges: list[range]) -> None:
    values = [*whole("b"), *whole("a")]
    given, plain = tmp_path / "given", tmp_path / "plain"
    given.mkdir()
    plain.mkdir()
    found = written(given, ranges, *values)
    numbers = [number for each in ranges for number in each]
    expected = written(plain, [range(len(numbers))], *(values[number] for number in numbers))
    for file in sorted(path.name for path in plain.iterdir()):
        if file != "content.json":
            assert (given / file).read_bytes() == (plain / file).read_bytes(), file
    assert found.summary == expected.summary
    assert found.package_fingerprints == expected.package_fingerprints


def test_a_large_catalog_is_hashed_in_chunks_while_it_is_written(tmp_path: Path) -> None:
    large = [{"schema": "x", "name": str(number), "text": "y" * 5_000_000} for number in range(10)]
    written(tmp_path, [range(10)], *large)
    reordered = tmp_path / "again"
    reordered.mkdir()
    written(reordered, [range(5, 10), range(0, 5)], *large)
    assert len(compute_checksums(reordered, DIGEST).files[BLOBS_FILE].chunk_digests) == 3


def test_large_numbers_and_floats_are_unchanged_in_all_files(tmp_path: Path) -> None:
    huge = '{"schema":"olm.bundle","name":"b","package":"p","properties":[{"type":"olm.constraint","value":{"a":1%s,"b":1.0}}]}'
    (document,) = documents.read_documents(io.BytesIO((huge % ("0" * 30)).encode()))
    with ContentWriter(tmp_path, DIGEST) as writer:
        writer.add(parse_blob(document))
        writer.finish()
    expected = b'{"a":1' + b"0" * 30 + b',"b":1}'
    assert expected in (tmp_path / BLOBS_FILE).read_bytes()
    assert expected in (tmp_path / "resolution.jsonl").read_bytes()


BEYOND = "1" * 400


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"schema":"olm.package","name":"bad","x":%s}', id="a package"),
        pytest.param('{"schema":"olm.channel","package":"bad","name":"c","entries":[],"x":%s}', id="a channel"),
        pytest.param('{"schema":"olm.deprecations","package":"bad","entries":[],"x":%s}', id="deprecations"),
        pytest.param(
            '{"schema":"olm.bundle","package":"bad","name":"b","image":"i","properties":[{"type":"olm.gvk","value":'
            '{"group":"g","kind":"K","version":"v1","x":%s}}]}',
            id="a property of a bundle",
        ),
    ],
)
def test_an_integer_beyond_float64_is_kept_and_affects_no_other_package(tmp_path: Path, text: str) -> None:
    with ContentWriter(tmp_path, DIGEST) as writer:
        for each in blobs(GOOD):
            writer.add(each)
        for document in documents.read_documents(io.BytesIO((text % BEYOND).encode())):
            writer.add(parse_blob(document))
        writer.finish()
    assert BEYOND.encode() in (tmp_path / BLOBS_FILE).read_bytes()
    assert resolution(Content(tmp_path), "p")["bundles"][0]["name"] == "p.v1.0.0"


def test_icons_are_decoded_and_found(tmp_path: Path) -> None:
    first = {"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"}
    second = {"base64data": "iVBORw0KGgo=", "mediatype": "image/png"}
    found = content(tmp_path, package("p", icon=first), package("q"), package("r", icon=second))
    pictures = found.icons_path.read_bytes()
    got = {name: found.icon_range(name) for name in "pqr"}
    assert got["q"] is None
    assert got["p"] == ((0, 6), "image/svg+xml")
    assert got["r"] == ((6, 8), "image/png")
    assert pictures == b"<svg/>\x89PNG\r\n\x1a\n"


def test_summaries_are_sorted_by_name(tmp_path: Path) -> None:
    found = content(tmp_path, *whole("q"), *whole("p", "2.0.0", "1.0.0"))
    answer = json.loads(found.summaries_path.read_bytes())
    assert answer == {
        "packages": [
            {
                "name": name,
                "defaultChannel": "stable",
                "channels": [{"name": "stable", "head": {"name": f"{name}.v{version}", "version": version}}],
            }
            for name, version in (("p", "2.0.0"), ("q", "1.0.0"))
        ]
    }


def test_content_of_another_format_is_not_opened(tmp_path: Path) -> None:
    content(tmp_path, *GOOD)
    facts = json.loads((tmp_path / "content.json").read_bytes())
    (tmp_path / "content.json").write_text(json.dumps({**facts, "format": facts["format"] - 1}))
    with pytest.raises(LookupError, match="it has another format"):
        Content(tmp_path)


def test_inconsistent_files_are_rejected(tmp_path: Path) -> None:
    content(tmp_path, *GOOD)
    (tmp_path / "index.json").write_bytes(b"{")
    with pytest.raises(ValueError, match="unexpected end of data"):
        Content(tmp_path)


def write(directory: Path, values: Iterable[Blob], ranges: Sequence[range] | None = None) -> None:
    with ContentWriter(directory, DIGEST) as writer:
        for each in values:
            writer.add(each)
        writer.finish(ranges)


@pytest.mark.parametrize(
    ("count", "value", "fault"),
    [
        pytest.param(
            300_001, lambda number: {"schema": "x"}, "the catalog holds more than 300,000 blobs", id="too many blobs"
        ),
        pytest.param(
            10_001,
            lambda number: package(f"p{number}"),
            "the catalog holds more than 10,000 packages",
            id="too many packages",
        ),
        pytest.param(
            33,
            lambda number: {"schema": "x", "name": f"{number}".zfill(1024 * 1024)},
            "the names of the catalog's blobs take more than 32 MiB",
            id="names too long",
        ),
    ],
)
def test_a_catalog_over_the_limits_is_rejected(
    tmp_path: Path, count: int, value: Callable[[int], Value], fault: str
) -> None:
    with pytest.raises(BadCatalog) as raised:
        write(tmp_path, (parse_blob(Document(value(number), b"", 0)) for number in range(count)))
    assert str(raised.value) == fault


def test_a_package_of_too_many_blobs_affects_only_itself(tmp_path: Path) -> None:
    large = (parse_blob(Document(channel("large", name=f"c{number}"), b"", 0)) for number in range(20_000))
    others = blobs([package("large"), package("q"), channel("q"), bundle("q", "1.0.0")])
    with ContentWriter(tmp_path, DIGEST) as writer:
        for each in (*large, *others):
            writer.add(each)
        writer.finish()
    written = Content(tmp_path)
    assert written.summary.problem_count >= 1
    assert written.summary.problems[0] == (
        'package "large" has more than 20,000 blobs: they are served unchanged, and none of them can be installed'
    )
    assert "q" in written.summary.package_names
    assert "large" not in written.summary.package_names
    assert written.resolution_range("large") is not None
    with pytest.raises(PackageTooLarge, match="it has more than 20,000 blobs, which is the limit; ask its publisher"):
        read_package(json.loads(written.resolution_path.read_bytes().splitlines()[0]))
    assert written.resolution_range("q") is not None
    assert written.summary.blob_count == 20_004
    assert len(written.index.byte_ranges(written.index.find(package="large"))) >= 1


LONG = "x" * 254


@pytest.mark.parametrize(
    ("name", "values", "what"),
    [
        pytest.param("p", [package("p"), channel("p", name=LONG)], "channel", id="a channel"),
        pytest.param("p", [package("p"), channel("p", LONG), bundle("p", "1.0.0", name=LONG)], "bundle", id="a bundle"),
        pytest.param("p", [package("p"), bundle("p", "1.0.0-" + LONG, name="p.v1")], "version", id="a version"),
        pytest.param(LONG, [package(LONG)], "name", id="the package itself"),
    ],
)
def test_a_package_with_a_name_that_is_too_long_affects_only_itself(
    tmp_path: Path, name: str, values: list[Value], what: str
) -> None:
    longest = channel("q", "q.v1.0.0", name=LONG[1:])
    write(tmp_path, blobs([*values, package("q"), longest, bundle("q", "1.0.0")]))
    written = Content(tmp_path)
    (problem,) = [each for each in written.summary.problems if "is the limit" in each]
    assert problem.startswith(f'package "{name[:100]}')
    assert f" has a {what} of " in problem
    assert problem.endswith("and 253 is the limit: its blobs are served unchanged, and none of them can be installed")
    assert list(written.summary.package_names) == ["q"]
    documents = [json.loads(line) for line in written.resolution_path.read_bytes().splitlines()]
    refused, whole_one = sorted(documents, key=lambda each: each["package"] == "q")
    assert len(refused["tooLarge"]) < 300
    with pytest.raises(PackageTooLarge, match="253 is the limit; ask its publisher for a shorter one"):
        read_package(refused)
    assert read_package(whole_one).channels[0].name == LONG[1:]
    assert len(written.index.byte_ranges(written.index.find(package=name))) >= 1


def test_a_file_with_very_many_links_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadCatalog, match="more than 300,000 blobs"):
        write(tmp_path, blobs([{"schema": "x"}] * 1000), [range(1000)] * 100_000)
