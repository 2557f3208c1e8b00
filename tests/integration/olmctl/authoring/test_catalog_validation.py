"""A directory is validated as by opm: files and their order, and errors with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from olmctl.authoring.catalog_validation import ValidationFailure, validate
from olmkit.fbc.errors import NO_BLOBS_MESSAGE
from tests.unit.olmkit.fbc.blob_builders import Value, bundle, channel, deprecations, package

VALID = (package(), channel("b"), bundle("b"))


def make(root: Path, **files: list[Value] | str) -> Path:
    """A file of JSON lines for each, or of text."""
    for name, content in files.items():
        text = content if isinstance(content, str) else "\n".join(map(json.dumps, content))
        (root / f"{name}.json").write_text(text)
    return root


def test_a_valid_catalog_of_several_files(tmp_path: Path) -> None:
    assert validate(make(tmp_path, a=[VALID[2]], b=[VALID[0], {"schema": "mine", "x": 1}], c=[VALID[1]])) is None


def test_a_catalog_as_yaml(tmp_path: Path) -> None:
    assert validate(make(tmp_path, a=yaml.safe_dump_all(VALID))) is None


@pytest.mark.parametrize("files", [{}, {"a": ""}], ids=["no file", "an empty file"])
def test_a_directory_without_a_blob_is_refused_as_by_catalogd(
    tmp_path: Path, files: dict[str, list[Value] | str]
) -> None:
    assert validate(make(tmp_path, **files)) == ValidationFailure(NO_BLOBS_MESSAGE)


def test_files_are_read_in_order(tmp_path: Path) -> None:
    made = make(tmp_path, b=[deprecations(package="x")], a=[*VALID, deprecations(package="y")])
    assert validate(made) == ValidationFailure('cannot apply deprecations to an unknown package "y"')


@pytest.mark.parametrize(
    ("text", "words", "place"),
    [
        pytest.param(
            '{"schema":"olm.package","name":"p"}\n{"schema":"olm.package","name":"q","icon":{"base64data":"eA=","mediatype":""}}',
            "parse package: illegal base64 data at input byte 3",
            'a.json, line 2: package "q"',
            id="an icon",
        ),
        pytest.param(
            '{"schema":"olm.channel","name":"c","package":"p","entries":[5]}',
            "parse channel: json: cannot unmarshal number into Go struct field Channel.entries of type declcfg.ChannelEntry",
            'a.json, line 1: package "p", channel "c"',
            id="a channel",
        ),
        pytest.param(
            '\n{"schema":"olm.bundle","name":"b","package":"p","properties":[{"type":"olm.bundle.object","value":{"data":"*"}}]}',
            'read bundle objects: package "p", bundle "b": parse property at index 0 as bundle object: illegal base64 data at'
            " input byte 0",
            "a.json, line 2",
            id="an object that is no base64",
        ),
        pytest.param(
            '{"schema":"olm.bundle","name":"b","package":"p","properties":[{"type":"olm.bundle.object","value":{"data":"YTogWw=="}}]}',
            'read bundle objects: package "p", bundle "b": convert bundle object property at index 0 to JSON: yaml: ',
            "a.json, line 1",
            id="an object that is no YAML",
        ),
        pytest.param(
            '{"schema":"olm.deprecations","package":"p","entries":"x"}',
            "parse deprecation: json: cannot unmarshal string into Go struct field Deprecation.entries of type"
            " []declcfg.DeprecationEntry",
            'a.json, line 1: package "p"',
            id="deprecations",
        ),
        pytest.param("# README", "object '' is missing root schema field", "a.json, line 1", id="a file of no catalog"),
        pytest.param(
            "a: 1\n--- x\n",
            "invalid Yaml document separator: x",
            "a.json, line 2",
            id="a separator with something after",
        ),
    ],
)
def test_errors_that_stop_the_reading_have_file_and_line(tmp_path: Path, text: str, words: str, place: str) -> None:
    refusal = validate(make(tmp_path, a=text, b="{"))
    assert refusal is not None
    assert refusal.opm_message.startswith(words)
    assert refusal.place == place


def test_a_link_out_of_the_directory_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text("{}")
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "a.json").symlink_to(outside)
    refusal = validate(tmp_path / "catalog")
    assert refusal is not None
    assert "leads outside" in refusal.opm_message


def test_objects_that_begin_like_json_are_not_parsed(tmp_path: Path) -> None:
    """As opm does."""
    objects = [{"type": "olm.bundle.object", "value": {"data": "e3t7"}}]
    whole = {**VALID[2], "properties": [*VALID[2]["properties"], *objects]}
    assert validate(make(tmp_path, a=[*VALID[:2], whole])) is None
