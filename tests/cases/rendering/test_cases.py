"""Bundles as folders, and the output of `python -m rukpak.render` for them. A bug report becomes a folder here.

<case>/bundle/ is the bundle, <case>/flags what is given on the command line, and either <case>/objects.yaml is what is printed
or <case>/faults.txt what goes to stderr with exit status 1; <case>/notes.txt is what goes to stderr in addition to objects.
"""

from pathlib import Path

import pytest

from olmctl.main import bundle_render_main as main
from rukpak.format import documents

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/bundle"))


def text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bundle_is_rendered_as_in_its_case(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main([str(case / "bundle"), *text_of(case / "flags").split()])
    printed = capsys.readouterr()
    assert printed.err == text_of(case / "faults.txt") + text_of(case / "notes.txt")
    assert documents.read(printed.out.encode()) == documents.read(text_of(case / "objects.yaml").encode())
    assert status == (1 if (case / "faults.txt").exists() else 0)


@pytest.mark.parametrize(
    "case", [case for case in CASES if (case / "objects.yaml").exists()], ids=lambda case: case.name
)
def test_json_and_yaml_have_the_same_values(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(case / "bundle"), *text_of(case / "flags").split(), "-o", "json"]) == 0
    (objects,) = documents.read(capsys.readouterr().out.encode())
    assert objects == documents.read((case / "objects.yaml").read_bytes())


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none'}: no such folder\n"


@pytest.mark.parametrize("parts", [(), ("metadata",), ("manifests",)], ids=" ".join)
def test_a_folder_that_is_no_bundle_is_called_a_folder(
    parts: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in parts:
        (tmp_path / part).mkdir()
    assert main([str(tmp_path)]) == 1
    message = f'{tmp_path} has no "manifests" folder with files in it: give the folder of one version of one bundle\n'
    assert capsys.readouterr().err == message


@pytest.mark.parametrize("namespace", ["kube-system", "default", "olm-suite-system", "No-Label"])
def test_a_namespace_where_nothing_may_be_installed(namespace: str, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = Path(__file__).parent / "own-namespace" / "bundle"
    assert main([str(bundle), "--namespace", namespace]) == 1
    assert capsys.readouterr().err.startswith(f'namespace "{namespace}" ')
