"""`olm catalog render-template`, and `olm catalog add --template`: a release of an author who keeps a template."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from devcluster.demo.sample_catalog import SAMPLES
from olmctl.main import main
from tests.servers.local_registry import LocalRegistry

BUNDLES = SAMPLES / "bundles" / "hello-operator"
BASIC = "# ours\nschema: olm.template.basic\nentries: # of the catalog\n- schema: custom\n  any: thing\n"
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def olm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `olm catalog` in an empty directory: exit status, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            status = main(["catalog", *map(str, arguments)])
        except SystemExit as error:
            status = int(error.code or 0)
        return status, *capsys.readouterr()

    return run


def test_a_template_grows_and_is_rendered(olm: Command, local_registry: LocalRegistry, tmp_path: Path) -> None:
    host = f"{local_registry.address}/template-{os.getpid()}"
    access = ("--allow-source-cidr", "127.0.0.0/8", "--registries-conf", tmp_path / "registries.conf")
    (tmp_path / "registries.conf").write_text(f'[[registry]]\nlocation = "{local_registry.address}"\ninsecure = true\n')
    template = Path("template.yaml")
    template.write_text(BASIC)
    for version in ("0.1.0", "0.2.0"):
        assert main(["bundle", "push", str(BUNDLES / version), f"{host}:v{version}"]) == 0
        status, out, _ = olm("add", f"{host}:v{version}", "-c", "stable", "--template", template, *access)
        assert (status, out.splitlines()[-1]) == (0, "template.yaml written")
    assert template.read_text().startswith(BASIC)
    assert olm("add", f"{host}:v0.2.0", "-c", "stable", "--template", template, *access)[1] == (
        "hello-operator.v0.2.0 unchanged\n"
    )
    level = ("--migrate-level", "bundle-object-to-csv-metadata")
    status, out, err = olm("render-template", "basic", template, "-o", "yaml", *level, *access)
    assert (status, err) == (0, "")
    Path("catalog").mkdir()
    Path("catalog", "all.yaml").write_text(out)
    assert olm("validate", "catalog") == (0, "", "")
    found = [(each["schema"], each.get("name")) for each in yaml.safe_load_all(out)]
    assert found == [
        ("custom", None),
        ("olm.package", "hello-operator"),
        ("olm.channel", "stable"),
        ("olm.bundle", "hello-operator.v0.1.0"),
        ("olm.bundle", "hello-operator.v0.2.0"),
    ]

    template.write_text("schema: olm.semver\nstable:\n  bundles:\n" + f"  - image: {host}:v0.1.0\n")
    assert olm("add", f"{host}:v0.2.0", "--template", template, *access)[0] == 0
    status, out, err = olm("render-template", template, *level, "-o", "yaml", *access)
    documents = list(yaml.safe_load_all(out))
    assert (status, err, documents[0]["defaultChannel"]) == (0, "", "stable-v0.2")
    assert documents[0]["description"].startswith("Greets each person that a Greeting names.")
    (stable,) = (each for each in documents if each.get("name") == "stable-v0.2")
    assert stable["entries"] == [{"name": "hello-operator.v0.2.0", "replaces": "hello-operator.v0.1.0"}]


@pytest.mark.parametrize(
    ("arguments", "text", "wanted", "words"),
    [
        pytest.param(
            ["semver"],
            BASIC,
            1,
            "-: is a template of schema olm.template.basic, and semver is olm.semver",
            id="another type",
        ),
        pytest.param([], "schema: a", 1, '-: template has unknown schema ("a")', id="no template on standard input"),
        pytest.param(["basic", "none"], "", 2, "none: there is no such file", id="no file"),
        pytest.param(["a", "b"], "", 2, 'invalid template type "a", must be one of basic, semver', id="no type"),
        pytest.param(["a", "b", "c"], "", 2, "give a type and a file at most", id="too many"),
        pytest.param(
            [],
            "schema: olm.semver\nfast: {bundles: [{image: A b}]}",
            2,
            'render "A b": there is no such directory, and it is no image: ',
            id="no image",
        ),
    ],
)
def test_what_is_refused(
    arguments: list[str], text: str, wanted: int, words: str, olm: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    status, out, err = olm("render-template", *arguments)
    assert (status, out) == (wanted, "")
    assert words in err


def test_a_catalog_that_opm_would_not_accept_is_said(olm: Command) -> None:
    Path("template.yaml").write_text(BASIC + "- {schema: olm.package, name: a, defaultChannel: b}\n")
    status, out, err = olm("render-template", "template.yaml")
    assert (status, '"name": "a"' in out) == (0, True)
    assert err.startswith("warning: opm would not accept this catalog: correct template.yaml: ")


@pytest.mark.parametrize(
    ("text", "more", "wanted", "words"),
    [
        pytest.param("schema: a", (), 1, 'template.yaml: template has unknown schema ("a")', id="no template"),
        pytest.param("schema: [", (), 1, "template.yaml: line 2, column 1: ", id="no YAML"),
        pytest.param(
            BASIC, ("--push", "quay.io/a:v1"), 2, "--push is for a catalog: render the template first", id="pushed"
        ),
        pytest.param("schema: olm.semver", ("--replaces", "a"), 1, "works out the edges", id="an edge"),
    ],
)
def test_additions_that_are_refused(text: str, more: tuple[str, ...], wanted: int, words: str, olm: Command) -> None:
    Path("template.yaml").write_text(text)
    image = "quay.io/a@sha256:" + "1" * 64
    status, out, err = olm("add", BUNDLES / "0.1.0", "--image", image, "--template", "template.yaml", *more)
    assert (status, out, Path("template.yaml").read_text()) == (wanted, "", text)
    assert words in err
