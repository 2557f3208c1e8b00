"""Bundles as directories, and the output of `olm bundle render` for them. A bug report becomes a directory here.

<case>/bundle/ is the bundle, <case>/flags what is given on the command line (CASE is the directory of the case), and either
<case>/objects.yaml is what is printed or <case>/faults.txt what goes to stderr with exit status 1; <case>/notes.txt is what goes
to stderr in addition to objects.
"""

from pathlib import Path

import orjson
import pytest

from olmctl.main import main
from olmkit.gocompat import documents
from tests.usage import error_of

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/bundle"))


def text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def flags_of(case: Path) -> list[str]:
    return text_of(case / "flags").replace("CASE", str(case)).split()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bundle_is_rendered_as_in_its_case(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["bundle", "render", str(case / "bundle"), *flags_of(case)])
    printed = capsys.readouterr()
    assert printed.err == text_of(case / "faults.txt") + text_of(case / "notes.txt")
    assert documents.read(printed.out.encode()) == documents.read(text_of(case / "objects.yaml").encode())
    assert status == (1 if (case / "faults.txt").exists() else 0)


@pytest.mark.parametrize(
    "case", [case for case in CASES if (case / "objects.yaml").exists()], ids=lambda case: case.name
)
def test_json_and_yaml_have_the_same_values(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", "render", str(case / "bundle"), *flags_of(case), "-o", "json"]) == 0
    (objects,) = documents.read(capsys.readouterr().out.encode())
    assert objects == documents.read((case / "objects.yaml").read_bytes())


@pytest.mark.parametrize("flags", [["--watch-namespace", ""], ["--certificates", "self"]], ids=" ".join)
def test_a_default_may_be_written_out(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    case = Path(__file__).parent / "webhooks-self"
    assert main(["bundle", "render", str(case / "bundle"), *flags]) == 0
    assert documents.read(capsys.readouterr().out.encode()) == documents.read((case / "objects.yaml").read_bytes())


def test_an_empty_namespace_to_watch_means_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["bundle", "render", str(Path(__file__).parent / "own-namespace" / "bundle"), "--watch-namespace", ""])
        == 1
    )
    assert "do not support targeting all namespaces" in capsys.readouterr().err


def test_several_bundles_are_printed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("own-namespace", "no-usable-mode", "all-namespaces")
    directories = [str(Path(__file__).parent / name / "bundle") for name in names]
    assert main(["bundle", "render", *directories, "-o", "json"]) == 1
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert printed.err == f"{directories[1]}: {text_of(Path(directories[1]).parent / 'faults.txt')}"
    assert lines[1] == "null"
    for name, line in zip((names[0], names[2]), (lines[0], lines[2]), strict=True):
        (objects,) = documents.read(line.encode())
        assert objects == documents.read((Path(__file__).parent / name / "objects.yaml").read_bytes())

    assert main(["bundle", "render", *directories]) == 1
    objects = documents.read(capsys.readouterr().out.encode())
    assert len(objects) == sum(len(orjson.loads(line) or ()) for line in lines), "a refused bundle has no documents"
    assert main(["bundle", "render", *directories[::2], "-o", "json"]) == 0


def test_a_bundle_that_is_refused_is_null_and_the_others_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = str(Path(__file__).parent / "all-namespaces" / "bundle")
    assert main(["bundle", "render", str(tmp_path), found, "-o", "json"]) == 1
    printed = capsys.readouterr()
    assert [line[:4] for line in printed.out.splitlines()] == ["null", '[{"a']
    assert printed.err.startswith(f'{tmp_path} has no "manifests" directory')


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("replicas: 2", 'invalid configuration: unknown field "config.replicas"'),
        ("env: 1", 'invalid configuration: invalid type for field "config.env": must be a list, not a number'),
        ("[]", "{file}: must be one mapping"),
        ("env: [", "{file}: line 2"),
    ],
)
def test_a_config_that_cannot_be_used(
    content: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(content)
    assert (
        main(["bundle", "render", str(Path(__file__).parent / "all-namespaces" / "bundle"), "--config", str(file)]) == 1
    )
    assert capsys.readouterr().err.startswith(error.format(file=file))


def test_a_directory_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", "render", str(tmp_path / "none")]) == 2
    text = "there is no such directory: give the directory of a bundle"
    assert error_of(capsys.readouterr().err) == f"{tmp_path / 'none'}: {text}\n"


@pytest.mark.parametrize("parts", [(), ("metadata",), ("manifests",)], ids=" ".join)
def test_a_directory_that_is_no_bundle_is_called_a_directory(
    parts: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in parts:
        (tmp_path / part).mkdir()
    assert main(["bundle", "render", str(tmp_path)]) == 1
    message = (
        f'{tmp_path} has no "manifests" directory with files in it: give the directory of one version of one bundle\n'
    )
    assert capsys.readouterr().err == message


@pytest.mark.parametrize("namespace", ["kube-system", "default", "olm-suite-system", "No-Label"])
def test_a_namespace_where_nothing_may_be_installed(namespace: str, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = Path(__file__).parent / "own-namespace" / "bundle"
    assert main(["bundle", "render", str(bundle), "--namespace", namespace]) == 1
    assert capsys.readouterr().err.startswith(f'namespace "{namespace}" ')
    as_upstream = main(["bundle", "render", str(bundle), "--install-namespace", namespace, "--upstream"])
    assert as_upstream == (1 if namespace == "No-Label" else 0), "upstream installs into any namespace"
