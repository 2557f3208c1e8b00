"""`olm catalog render` of directories. Images are tested in tests/cluster/olmctl/catalog/test_render.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from olmctl.authoring.catalog_validation import validate
from olmctl.main import main
from tests.unit.olmkit.fbc.bundle_builders import Files, bundle, dump
from tests.usage import error_of

PLAIN = {"manifests/n.yaml": dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})}
FLAGS = ["--package", "p", "--version", "1.0.0", "--image", "quay.io/o/p:v1"]


def directory(path: Path, files: Files) -> str:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(text)
    return str(path)


def blobs(text: str) -> list[dict[str, Any]]:
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at += 1
    return found


def test_a_catalog_in_opms_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        {"schema": "olm.bundle", "name": "p.v1", "package": "p", "image": "i", "zzz": 1.5},
        {"schema": "olm.package", "name": "p"},
        {"schema": "my.own", "name": "x"},
    ]
    catalog = directory(tmp_path, {f"{number}.json": json.dumps(each).encode() for number, each in enumerate(lines)})
    assert main(["catalog", "render", catalog]) == 0
    out = capsys.readouterr().out
    assert [each["schema"] for each in blobs(out)] == ["my.own", "olm.package", "olm.bundle"]
    assert main(["catalog", "render", catalog, "--output", "yaml"]) == 0
    assert capsys.readouterr().out == (
        "---\nname: x\nschema: my.own\n---\nname: p\nschema: olm.package\n"
        "---\nimage: i\nname: p.v1\npackage: p\nschema: olm.bundle\nzzz: 1.5\n"
    )


def test_what_was_rendered_is_rendered_to_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["catalog", "render", directory(tmp_path / "b", bundle()), "--image", "quay.io/o/p:v1", "-o", "yaml"])
    first = capsys.readouterr().out
    assert main(["catalog", "render", directory(tmp_path / "c", {"x.yaml": first.encode()}), "-o", "yaml"]) == 0
    assert capsys.readouterr().out == first


def test_a_bundle_and_a_catalog_make_a_valid_catalog(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    channel = {"schema": "olm.channel", "package": "p", "name": "c", "entries": [{"name": "p.v1.2.3"}]}
    made = tmp_path / "catalog"
    directory(made, {"channel.json": json.dumps(channel).encode()})
    main(["catalog", "init", "p", "-c", "c"])
    (made / "package.json").write_text(capsys.readouterr().out)
    bundle_directory = directory(tmp_path / "bundle", bundle())
    assert main(["catalog", "render", str(made), bundle_directory]) == 0
    whole = tmp_path / "whole"
    directory(whole, {"catalog.json": capsys.readouterr().out.encode()})
    assert validate(whole) is None


def test_manifests_are_summarized_on_demand_in_bundles_and_catalogs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = directory(tmp_path / "b", bundle())
    main(["catalog", "render", files, "--image", "quay.io/o/p:v1"])
    carrying = capsys.readouterr().out
    assert [each["type"] for each in blobs(carrying)[0]["properties"]][-2:] == ["olm.bundle.object"] * 2
    main(["catalog", "render", files, "--image", "quay.io/o/p:v1", "--migrate"])
    summarized = capsys.readouterr().out
    assert blobs(summarized)[0]["properties"][-1]["type"] == "olm.csv.metadata"
    catalog = directory(tmp_path / "c", {"catalog.json": carrying.encode()})
    assert main(["catalog", "render", catalog, "--migrate-level", "bundle-object-to-csv-metadata"]) == 0
    assert blobs(capsys.readouterr().out) == blobs(summarized)


@pytest.mark.parametrize(
    ("files", "flags"),
    [
        pytest.param(PLAIN, FLAGS, id="manifests alone"),
        pytest.param(PLAIN | {"plain.Dockerfile": b"", ".git/x.json": b"{"}, FLAGS, id="with files around them"),
        pytest.param(PLAIN | {"x.yaml": b"", "src/y.yaml": b""}, FLAGS, id="with other files, if flags name it"),
    ],
)
def test_a_plain_bundle(files: Files, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "render", directory(tmp_path, files), *flags]) == 0
    (found,) = blobs(capsys.readouterr().out)
    assert list(found) == ["schema", "name", "package", "image", "properties"]
    assert (found["name"], found["image"]) == ("p.v1.0.0", "quay.io/o/p:v1")
    assert found["properties"][1] == {"type": "olm.bundle.mediatype", "value": "plain+v0"}


def test_a_catalog_of_a_package_called_manifests_is_a_catalog(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = b'{"schema":"olm.package","name":"manifests"}'
    catalog = directory(tmp_path, {"manifests/catalog.json": package, "other/catalog.json": b""})
    assert main(["catalog", "render", catalog]) == 0
    assert blobs(capsys.readouterr().out)[0]["name"] == "manifests"


@pytest.mark.parametrize(
    ("files", "flags", "words"),
    [
        pytest.param(
            PLAIN,
            [],
            "a plain bundle does not contain its name and version: set --image, --package, --version",
            id="a plain bundle without flags",
        ),
        pytest.param(
            PLAIN,
            [*FLAGS, "--version", "1"],
            '--version "1" is not a semantic version: No Major.Minor.Patch elements found',
            id="a version that is none",
        ),
        pytest.param(
            PLAIN, [*FLAGS, "--image", "a b"], 'invalid image pull spec "a b": invalid reference format', id="no image"
        ),
        pytest.param(
            {"manifests/x.yaml": b"a: b\n"},
            FLAGS,
            "manifests/x.yaml: document 1 is no Kubernetes object: it needs apiVersion and kind",
            id="manifests that are none",
        ),
        pytest.param(
            bundle(), FLAGS, "--package is for plain bundles: this bundle's metadata/ has it", id="another bundle"
        ),
        pytest.param(
            {"x.yaml": b"a: b\n"},
            [],
            'x.yaml: line 1: object \'{"a":"b"}\' is missing root schema field',
            id="a file of no catalog",
        ),
        pytest.param(
            {"x.json": b'{"schema":"olm.channel","package":"p","entries":5}'},
            [],
            "parse channel: json: cannot unmarshal number into Go struct field Channel.entries of type"
            ' []declcfg.ChannelEntry (package "p", channel "")',
            id="a blob that does not match its schema",
        ),
    ],
)
def test_references_that_cannot_be_rendered(
    files: Files, flags: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = directory(tmp_path, files)
    assert main(["catalog", "render", path, *flags]) == 1
    assert capsys.readouterr() == ("", f'render "{path}": {words}\n')


def test_metadata_that_is_left_out_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = directory(tmp_path, bundle(dependencies=b"a:\n- b: c\n    d: e\n"))
    assert main(["catalog", "render", path]) == 0
    out, err = capsys.readouterr()
    assert blobs(out)[0]["name"] == "p.v1.2.3"
    assert err.startswith(f'warning: render "{path}": metadata/dependencies.yaml: line 3')


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        pytest.param("./nothing", "there is no such directory, and it is no image: ", id="no directory"),
        pytest.param("a b", "there is no such directory, and it is no image: ", id="no image"),
        pytest.param(__file__, "it is a file: give the directory that contains it", id="a file"),
    ],
)
def test_paths_that_are_no_directory(reference: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "render", reference]) == 2
    out, err = capsys.readouterr()
    assert (out, error_of(err).startswith(f'render "{reference}": {words}')) == ("", True)


@pytest.mark.parametrize("arguments", [[], ["x", "-o", "xml"], ["x", "--migrate-level", "all"], ["x", "--mig"]])
def test_wrong_use(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["catalog", "render", *arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().out == ""
