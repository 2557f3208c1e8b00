"""The files of charts, and what is refused of them before helm sees them."""

from __future__ import annotations

import json

import pytest

from rukpak.charts.chart import MAX_ARCHIVED_FILES, MAX_FILE_BYTES, Chart, chart_directory, read_chart
from rukpak.format.errors import BadBundle
from tests.chart_files import CHARTS, chart_files, packed_chart, small_chart

LIBRARY = {"Chart.yaml": b"apiVersion: v2\nname: common\nversion: 1.0.0\ntype: library\n"}
NEEDS_COMMON = "apiVersion: v2\nname: small\nversion: 1.0.0\ndependencies: [{name: common, version: 1.x.x}]\n"


@pytest.mark.parametrize("name", sorted(path.name for path in CHARTS.iterdir()))
def test_the_charts_of_the_tests_are_charts(name: str) -> None:
    assert read_chart(chart_files(name)).name == name


def test_a_chart_has_a_name_and_versions() -> None:
    assert read_chart(chart_files("web")) == Chart("web", "1.2.0", "6.1")


@pytest.mark.parametrize(
    ("paths", "directory"),
    [
        pytest.param(["Chart.yaml", "other/Chart.yaml"], "", id="the root wins"),
        pytest.param(["web/Chart.yaml", "README.md"], "web", id="the only directory with a chart"),
    ],
)
def test_the_chart_is_found(paths: list[str], directory: str) -> None:
    assert chart_directory(paths) == directory


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        pytest.param(
            ["a/b/Chart.yaml"], "the content has no Helm chart: Chart.yaml has to be at its root", id="too deep"
        ),
        pytest.param(["b/Chart.yaml", "a/Chart.yaml"], "has several Helm charts (a, b): give the directory", id="two"),
    ],
)
def test_content_without_one_chart_is_refused(paths: list[str], message: str) -> None:
    with pytest.raises(BadBundle) as error:
        chart_directory(paths)
    assert message in error.value.message


def reference(text: str, **schema: str) -> str:
    return json.dumps({**schema, "properties": {"a": {"$ref": text}}})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param(LIBRARY, 'chart "common" is a library chart, which other charts use', id="a library chart"),
        pytest.param(
            small_chart({}, Chart_yaml=NEEDS_COMMON),
            "Chart.yaml lists dependencies that are missing in charts/: common: run `helm dependency build`",
            id="a missing dependency",
        ),
        pytest.param(
            {
                **small_chart({}, Chart_yaml="apiVersion: v1\nname: small\nversion: 1.0.0\n"),
                "requirements.yaml": b"dependencies: [{name: db}]",
            },
            "missing in charts/: db",
            id="a missing dependency of the old format",
        ),
        pytest.param(
            {**small_chart({}), "values.schema.json": reference("file:///var/run/secrets/token").encode()},
            'values.schema.json refers to "file:///var/run/secrets/token": nothing outside the chart is read',
            id="a schema that refers to a file",
        ),
        pytest.param(
            {**small_chart({}), "values.schema.json": reference("http://10.0.0.1/schema.json").encode()},
            'values.schema.json refers to "http://10.0.0.1/schema.json"',
            id="a schema that refers to a URL",
        ),
        pytest.param(
            {
                **small_chart({}),
                "charts/inner.tgz": packed_chart(
                    {**small_chart({}, "inner"), "values.schema.json": reference("FILE:/x").encode()}, "inner"
                ),
            },
            'charts/inner.tgz/values.schema.json refers to "FILE:/x"',
            id="a schema in an archive",
        ),
        pytest.param(
            {**small_chart({}), "charts/inner.tgz": packed_chart(small_chart({}, "inner"), "/inner")},
            'charts/inner.tgz: "/inner/Chart.yaml" is a link, or a path outside the chart',
            id="absolute paths in an archive",
        ),
        pytest.param(
            {**small_chart({}), "charts/inner.tgz": b"no archive"}, "charts/inner.tgz cannot be read", id="no archive"
        ),
        pytest.param(
            {**small_chart({}), "files/big": bytes(MAX_FILE_BYTES + 1)},
            "files/big has 5,242,881 bytes",
            id="a big file",
        ),
        pytest.param(
            {
                **small_chart({}),
                "charts/many-1.0.0.tgz": packed_chart(
                    dict.fromkeys(map(str, range(MAX_ARCHIVED_FILES + 1)), b""), "many"
                ),
            },
            "charts/many-1.0.0.tgz: archives of charts have more than 10,000 files",
            id="many files in an archive",
        ),
        pytest.param(
            small_chart({}, Chart_yaml="name: x\nversion: 1.0.0"), 'apiVersion "" is not v1 or v2', id="no format"
        ),
        pytest.param(
            small_chart({}, Chart_yaml="apiVersion: v2\nname: ../x\nversion: 1.0.0"),
            '"../x" is not the name of a chart',
            id="a name that is a path",
        ),
        pytest.param(
            small_chart({}, Chart_yaml="apiVersion: v2\nname: x\nversion: one"),
            'version "one" is not a semantic version',
            id="no version",
        ),
        pytest.param(small_chart({}, Chart_yaml="- a"), "Chart.yaml is not a mapping", id="no mapping"),
        pytest.param(small_chart({}, Chart_yaml="a: ["), "Chart.yaml: ", id="no YAML"),
        pytest.param({**small_chart({}), "values.schema.json": b"{"}, "values.schema.json is not JSON", id="no JSON"),
    ],
)
def test_charts_that_are_refused(files: dict[str, bytes], message: str) -> None:
    with pytest.raises(BadBundle) as error:
        read_chart(files)
    assert message in error.value.message


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(reference("#/$defs/a"), id="a part of the schema"),
        pytest.param(reference("https://json-schema.org/draft/2020-12/schema"), id="JSON Schema itself"),
        pytest.param(
            reference("https://x.example.com/a.json#/$defs/b", **{"$id": "https://x.example.com/a.json"}),
            id="its own $id",
        ),
    ],
)
def test_references_within_a_schema_are_accepted(schema: str) -> None:
    read_chart({**small_chart({}), "values.schema.json": schema.encode()})


def test_dependencies_may_be_directories_and_archives() -> None:
    files = small_chart({}, Chart_yaml=NEEDS_COMMON)
    read_chart({**files, "charts/common-1.0.0.tgz": packed_chart(LIBRARY, "common")})
    read_chart({**files, "charts/common/Chart.yaml": LIBRARY["Chart.yaml"]})
