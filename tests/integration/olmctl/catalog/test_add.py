"""`olm catalog add`, and the commands that build and push what it needs, as a release uses them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.demo.sample_catalog import SAMPLES
from olmctl.file_replacement import locked
from olmctl.main import main
from tests.servers.local_registry import LocalRegistry

BUNDLES = SAMPLES / "bundles" / "hello-operator"
IMAGE = "registry.example.com/hello@sha256:" + "1" * 64
PACKAGE = Path("catalog", "hello-operator", "catalog.yaml")

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def olm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in an empty directory: exit status, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*arguments: object) -> tuple[int, str, str]:
        status = main([str(each) for each in arguments])
        return status, *capsys.readouterr()

    return run


def add(olm: Command, version: str, *more: str) -> tuple[int, str, str]:
    return olm(
        "catalog", "add", BUNDLES / version, "--image", IMAGE.replace("1" * 8, version.replace(".", "0") + "abc"), *more
    )


def test_a_catalog_grows_release_by_release(olm: Command) -> None:
    assert add(olm, "0.1.0") == (
        0,
        "hello-operator.v0.1.0 in the new channel candidate of hello-operator\n"
        "hello-operator.v0.1.0 in the new channel stable of hello-operator\n"
        f"{PACKAGE} written\n",
        "",
    )
    PACKAGE.write_text(PACKAGE.read_text().replace("---\n", "---\n# ours\n", 1))
    before = PACKAGE.read_text()
    status, out, _ = add(olm, "0.2.0", "-c", "stable")
    assert (status, out.splitlines()[0]) == (
        0,
        "hello-operator.v0.2.0 in channel stable of hello-operator: replaces hello-operator.v0.1.0",
    )
    after = PACKAGE.read_text()
    assert after.startswith("---\n# ours\n")
    added = "- name: hello-operator.v0.2.0\n  replaces: hello-operator.v0.1.0\n"
    assert added in after
    assert after.replace(added, "").startswith(before)
    assert add(olm, "0.2.0", "-c", "stable") == (0, "hello-operator.v0.2.0 unchanged\n", "")
    assert PACKAGE.read_text() == after
    assert add(olm, "0.2.0", "-c", "candidate")[0] == 0
    assert PACKAGE.read_text().count("- name: hello-operator.v0.2.0") == 2
    assert olm("catalog", "validate", "catalog") == (0, "", "")


def test_a_package_whose_icon_cannot_be_read_has_none(olm: Command) -> None:
    shutil.copytree(BUNDLES / "0.1.0", "bundle")
    (path,) = Path("bundle", "manifests").glob("*clusterserviceversion*")
    csv = yaml.safe_load(path.read_text())
    csv["spec"]["icon"] = [{"base64data": "aWNvbg==  AA", "mediatype": "image/png"}]
    path.write_text(yaml.safe_dump(csv))
    status, _, err = olm("catalog", "add", "bundle", "--image", IMAGE)
    assert (status, err) == (
        0,
        "warning: spec.icon[0].base64data: illegal base64 data at input byte 8: the package has no icon\n",
    )
    assert "icon:" not in PACKAGE.read_text()
    assert olm("catalog", "validate", "catalog") == (0, "", "")


def test_a_bundle_for_each_file(olm: Command) -> None:
    directory = Path("catalog", "hello-operator")
    add(olm, "0.1.0")
    texts = PACKAGE.read_text().split("---\n")
    bundle = next(text for text in texts if "schema: olm.bundle" in text)
    PACKAGE.write_text("---\n".join(text for text in texts if text is not bundle))
    (directory / "bundle-v0.1.0.yaml").write_text(bundle)
    assert add(olm, "0.2.0")[1].splitlines()[-2:] == [f"{directory}/bundle-v0.2.0.yaml written", f"{PACKAGE} written"]
    assert olm("catalog", "validate", "catalog") == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "wanted", "words"),
    [
        pytest.param(["none"], 2, '"docker.io/library/none:latest" cannot be pulled', id="no directory"),
        pytest.param([BUNDLES / "0.1.0"], 2, "is a directory: name its image with --image", id="no image"),
        pytest.param([BUNDLES / "0.1.0", "--image", "A b"], 2, "invalid image pull spec", id="no reference"),
        pytest.param([BUNDLES / "0.1.0", BUNDLES / "0.2.0", "--image", IMAGE], 2, "are for one bundle", id="several"),
        pytest.param(
            [BUNDLES / "0.1.0", "--image", IMAGE, "--template", "none"],
            2,
            "--template none: there is no such file",
            id="no template",
        ),
        pytest.param([SAMPLES, "--image", IMAGE], 2, 'has no "manifests" directory with files in it', id="no bundle"),
        pytest.param([BUNDLES / "0.1.0", "--image", IMAGE, "--push", "a@b"], 2, "image reference", id="no tag"),
    ],
)
def test_what_is_refused(arguments: list[str], wanted: int, words: str, olm: Command) -> None:
    conf = Path("registries.conf")
    conf.write_text('[[registry]]\nprefix = "docker.io"\nblocked = true\n')
    status, out, err = olm("catalog", "add", *arguments, "--registries-conf", conf)
    assert (status, out) == (wanted, "")
    assert words in err


def test_nothing_is_written_that_opm_refuses(olm: Command) -> None:
    shutil.copytree(SAMPLES / "catalog", "catalog")
    text = PACKAGE.read_text()
    PACKAGE.write_text(text.replace("defaultChannel: stable", "defaultChannel: gone"))
    before = PACKAGE.read_text()
    status, out, err = olm("catalog", "add", BUNDLES / "0.3.0", "--image", IMAGE, "--channel", "fast", "--overwrite")
    assert (status, out) == (1, "")
    assert err.startswith(
        "package hello-operator is not valid, nor was it before, and nothing was written: invalid index:"
    )
    assert PACKAGE.read_text() == before
    PACKAGE.write_text("schema: [\n# hello-operator")
    _, _, err = olm("catalog", "add", BUNDLES / "0.3.0", "--image", IMAGE)
    assert err.startswith(f"{PACKAGE}: line ")


def test_a_release_is_two_commands(olm: Command, local_registry: LocalRegistry, tmp_path: Path) -> None:
    """Push the bundle; add it to the catalog, and push that. The tag of the bundle is written by its digest."""
    host = f"{local_registry.address}/release-{os.getpid()}"
    access = ("--allow-source-cidr", "127.0.0.0/8", "--registries-conf", tmp_path / "registries.conf")
    (tmp_path / "registries.conf").write_text(f'[[registry]]\nlocation = "{local_registry.address}"\ninsecure = true\n')
    status, pushed, _ = olm("bundle", "push", BUNDLES / "0.1.0", f"{host}/bundle:v0.1.0", f"{host}/bundle:latest")
    reference = pushed.strip()
    assert (status, reference.startswith(f"{host}/bundle@sha256:")) == (0, True)
    status, out, _ = olm("catalog", "add", f"{host}/bundle:latest", "--push", f"{host}/catalog:latest", *access)
    assert (status, out.splitlines()[-2]) == (0, f"{PACKAGE} written")
    assert f"image: {reference}\n" in PACKAGE.read_text()
    catalog = out.splitlines()[-1]
    assert catalog.startswith(f"{host}/catalog@sha256:")
    status, rendered, _ = olm("catalog", "render", catalog, "-o", "yaml", *access)
    assert (status, f"image: {reference}\n" in rendered) == (0, True)
    again = olm("catalog", "add", reference, "--push", f"{host}/catalog:latest", *access)[1]
    assert again.splitlines() == ["hello-operator.v0.1.0 unchanged", catalog]


def test_what_was_built_is_pushed_as_it_is(olm: Command, local_registry: LocalRegistry) -> None:
    status, built, _ = olm("bundle", "build", BUNDLES / "0.1.0", "-t", "quay.io/team/hello:v1")
    path, digest = built.split()
    assert (status, path) == (0, "hello-operator.v0.1.0.tar")
    assert olm("bundle", "build", BUNDLES / "0.1.0", "-o", "layout")[1] == f"layout {digest}\n"
    for each in (path, "layout"):
        name = f"{local_registry.address}/built-{os.getpid()}"
        assert olm("bundle", "push", each, f"{name}:v1")[1] == f"{name}@{digest}\n"
    shutil.copytree(SAMPLES / "catalog", "catalog")
    status, built, _ = olm("catalog", "build", "catalog")
    assert (status, built.split()[0]) == (0, "catalog.tar")
    assert olm("catalog", "build", "catalog", "-o", "new/")[1].split()[1] == built.split()[1]


@pytest.mark.parametrize(
    ("arguments", "wanted", "words"),
    [
        pytest.param(
            ["build", "none"], 2, "none: there is no such directory: give the directory of", id="no directory"
        ),
        pytest.param(["build", "file"], 2, "file: is a file: give the directory of a bundle", id="a file"),
        pytest.param(["build", BUNDLES / "0.1.0", "-t", "A:b"], 2, "image reference", id="no reference"),
        pytest.param(["build", BUNDLES / "0.1.0", "-o", "."], 1, "is a directory with other files", id="other files"),
        pytest.param(["push", BUNDLES / "0.1.0", "quay.io/a@sha256:" + "0" * 64], 2, "give a tag", id="a digest"),
        pytest.param(["push", "none", "quay.io/a:v1"], 2, "or what `olm bundle build` wrote", id="nothing to push"),
        pytest.param(["push", "file", "quay.io/a:v1"], 2, "file: is a file: give the directory", id="no archive"),
        pytest.param(["push", BUNDLES / "0.1.0", "127.0.0.1:1/a:v1"], 1, "registry 127.0.0.1:1 ", id="no registry"),
    ],
)
def test_builds_and_pushes_that_are_refused(
    arguments: list[str], wanted: int, words: str, olm: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olmctl.authoring.images.push.RETRY_SECONDS", 0.01)
    Path("file").write_text("no tar")
    status, out, err = olm("bundle", *arguments)
    assert (status, out) == (wanted, "")
    assert words in err
    assert sorted(path.name for path in Path().iterdir()) == ["file"]


def test_what_a_killed_command_has_left_is_removed(olm: Command) -> None:
    add(olm, "0.1.0")
    PACKAGE.with_name(".catalog.yaml.partial").write_text(PACKAGE.read_text()[:-20])
    assert olm("catalog", "validate", "catalog")[0] == 1
    assert add(olm, "0.2.0", "-c", "stable")[0] == 0
    assert olm("catalog", "validate", "catalog") == (0, "", "")


def test_a_link_that_a_checkout_brings_beside_a_template_is_not_written_through(olm: Command, tmp_path: Path) -> None:
    template, outside = Path("template.yaml"), tmp_path / "precious"
    template.write_text("schema: olm.template.basic\nentries:\n- schema: olm.package\n")
    outside.write_text("mine")
    Path(".template.yaml.partial").symlink_to(outside)
    status, _, err = add(olm, "0.2.0", "-c", "stable", "--template", "template.yaml")
    assert (status, err, outside.read_text(), template.is_symlink()) == (0, "", "mine", False)
    assert "hello-operator.v0.2.0" in template.read_text()


def test_what_another_command_writes_meanwhile_is_not_lost(olm: Command, tmp_path: Path) -> None:
    add(olm, "0.1.0")
    command = [sys.executable, "-m", "olmctl", "catalog", "add", str(BUNDLES / "0.2.0"), "--image", IMAGE]
    with locked(tmp_path / "catalog"):
        process = subprocess.Popen(command, cwd=tmp_path)
        while not any(
            f" {process.pid} " in line for line in Path("/proc/locks").read_text().splitlines() if "->" in line
        ):
            assert process.poll() is None, "it does not wait"
            time.sleep(0.01)
        PACKAGE.write_text(PACKAGE.read_text().replace("---\n", "---\n# written meanwhile\n", 1))
    assert process.wait(60) == 0
    text = PACKAGE.read_text()
    assert "# written meanwhile" in text
    assert "name: hello-operator.v0.2.0" in text


@pytest.mark.parametrize(
    ("suffix", "spelling"),
    [
        pytest.param(".json", "hello\\u002doperator", id="JSON with a dash by its number"),
        pytest.param(".json", "\\u0068ello-operato\\u0072", id="JSON with letters by their numbers"),
        pytest.param(".yaml", "hello\\x2doperator", id="YAML with a dash by its number"),
        pytest.param(".yaml", "hello-\\\n  operator", id="YAML over two lines"),
    ],
)
def test_a_package_is_found_by_its_name_however_that_is_written(suffix: str, spelling: str, olm: Command) -> None:
    add(olm, "0.1.0")
    text = olm("catalog", "render", "catalog")[1]
    path = PACKAGE.with_suffix(suffix)
    PACKAGE.unlink()
    if suffix == ".yaml":  # JSON of a line is YAML
        text = "---\n".join(f"{json.dumps(each)}\n" for each in documents(text)).replace("{", "---\n{", 1)
    path.write_text(text.replace("hello-operator", spelling))
    assert olm("catalog", "validate", "catalog") == (0, "", "")
    before = documents(olm("catalog", "render", "catalog")[1])
    assert add(olm, "0.2.0", "-c", "stable")[0] == 0
    assert olm("catalog", "validate", "catalog") == (0, "", "")
    assert list(Path("catalog").rglob("*.*")) == [path]
    after = documents(olm("catalog", "render", "catalog")[1])
    assert [each for each in after if each["schema"] == "olm.package"] == before[:1]
    assert [each["name"] for each in after if each["schema"] == "olm.bundle"] == [
        "hello-operator.v0.1.0",
        "hello-operator.v0.2.0",
    ]


def documents(text: str) -> list[dict[str, Any]]:
    """The documents of a stream of JSON."""
    found, at, decoder = [], 0, json.JSONDecoder()
    while at < len(text.rstrip()):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("properties: 1.5", id="properties that are a number"),
        pytest.param("properties: true", id="properties that are no list"),
    ],
)
def test_a_bundle_of_the_catalog_that_is_spoilt_is_reported(text: str, olm: Command) -> None:
    add(olm, "0.1.0")
    PACKAGE.write_text(re.sub(r"properties:\n(?:[ -].*\n)+", f"{text}\n", PACKAGE.read_text()))
    status, _, err = add(olm, "0.2.0")
    assert (status, "is not valid, nor was it before, and nothing was written: " in err) == (1, True), err


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ("true", "the entries of channel candidate are no list"),
        ("5.5", "the entries of channel candidate are no list"),
        ("[{name: hello-operator.v0.1.0, skips: true}]", "is not valid, nor was it before"),
    ],
)
def test_a_channel_of_the_catalog_that_is_spoilt_is_reported(entries: str, words: str, olm: Command) -> None:
    add(olm, "0.1.0")
    PACKAGE.write_text(re.sub(r"entries:\n(?:[ -].*\n)+", f"entries: {entries}\n", PACKAGE.read_text()))
    status, _, err = add(olm, "0.2.0")
    assert (status, words in err) == (1, True), err


@pytest.mark.parametrize("value", ["1" * 40, "5", "[1]"])
@pytest.mark.parametrize("field", ["metadata", "spec"])
def test_a_bundle_whose_parts_have_other_types_is_refused(value: str, field: str, olm: Command, tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "0.1.0", tmp_path / "bundle")
    (manifest,) = (tmp_path / "bundle" / "manifests").glob("*clusterserviceversion.yaml")
    content = {**yaml.safe_load(manifest.read_text()), field: yaml.safe_load(value)}
    manifest.write_text(yaml.safe_dump(content))
    status, _, err = olm("catalog", "add", tmp_path / "bundle", "--image", IMAGE)
    assert (status, err.startswith(f"{tmp_path}/bundle: ")) == (1, True), err
    assert olm("bundle", "build", tmp_path / "bundle")[0] == 0  # an image has any files
