"""`olm resolve`: the result as JSON and as text, and its exit statuses. Resolution itself is tested in tests/cases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from olmctl.main import main
from tests.bundle_properties import package_required


def blobs(package: str, versions: dict[str, list[tuple[str, Any]]]) -> list[dict[str, Any]]:
    names = [f"{package}.v{version}" for version in versions]
    entries = [
        {"name": name, **({"replaces": before} if before else {})}
        for name, before in zip(names, ["", *names], strict=False)
    ]
    return [
        {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
        {"schema": "olm.channel", "name": "stable", "package": package, "entries": entries},
        *(
            {
                "schema": "olm.bundle",
                "name": name,
                "package": package,
                "image": f"registry/{package}:{version}",
                "properties": [
                    {"type": "olm.package", "value": {"packageName": package, "version": version}},
                    *(package_required(name, text) for name, text in needs),
                ],
            }
            for name, (version, needs) in zip(names, versions.items(), strict=True)
        ),
    ]  # fmt: skip


def catalog(directory: Path, *packages: list[dict[str, Any]]) -> str:
    directory.mkdir()
    (directory / "catalog.json").write_text("\n".join(json.dumps(each) for package in packages for each in package))
    return str(directory)


@pytest.fixture
def guide(tmp_path: Path) -> str:
    return catalog(
        tmp_path / "community",
        blobs("a", {"0.1.0": [("c", "0.1.0")], "0.2.0": []}),
        blobs("b", {"0.1.0": [("c", "0.2.0")]}),
        blobs("c", {"0.1.0": [], "0.2.0": []}),
    )


def test_the_end_state_as_json(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resolve", "--catalog", guide, "-o", "json", "a@0.1.0"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["error"] is None
    shown = [(each["package"], each["version"], each["bundle"], each["catalog"]) for each in found["bundles"]]
    assert shown == [("a", "0.1.0", "a.v0.1.0", "community"), ("c", "0.1.0", "c.v0.1.0", "community")]
    assert found["bundles"][1]["because"] == ["a v0.1.0 requires c v0.1.0"]
    assert found["bundles"][0]["because"][0].startswith("it is requested: 0.1.0 of channel stable")


def test_one_refusal_refuses_everything(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resolve", "--catalog", guide, "--output", "json", "a@0.1.0", "b"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["bundles"] == []
    assert found["error"]["message"].startswith(
        "Unable to resolve because a v0.1.0 requires c v0.1.0, which conflicts with b latest requiring c v0.2.0"
    )
    assert {each["kind"] for each in found["error"]["clauses"]} == {"request", "requirement"}
    assert {each["subject"] for each in found["error"]["clauses"]} == {"a", "b"}


def test_the_order_of_the_packages_decides_whom_the_message_refuses(
    guide: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["resolve", "--catalog", guide, "b", "a@0.1.0"]) == 1
    assert "b latest requires c v0.2.0, which conflicts with a v0.1.0 requiring c v0.1.0" in capsys.readouterr().err


def test_an_unknown_package_is_refused_as_json_too(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resolve", "--catalog", guide, "-o", "json", "d"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["message"].startswith("package 'd' not found")
    assert error["clauses"] == [{"subject": "d", "kind": "request", "sentence": "package 'd' not found"}]


def test_what_is_installed_stays(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resolve", "--catalog", guide, "--installed", "c=0.1.0", "-o", "json", "a@0.2.0"]) == 0
    found = json.loads(capsys.readouterr().out)["bundles"]
    assert [(each["package"], each["version"]) for each in found] == [("a", "0.2.0"), ("c", "0.1.0")]
    assert found[1]["because"] == ["it is installed"]


def test_what_is_installed_is_upgraded_if_a_request_needs_it(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resolve", "--catalog", guide, "--installed", "c=0.1.0", "b"]) == 0
    text = "c 0.2.0 (c.v0.2.0, catalog community)\n  it is upgraded from 0.1.0\n  b v0.1.0 requires c v0.2.0\n"
    assert capsys.readouterr().out.endswith(text)


def test_what_is_installed_and_requested_follows_its_upgrade_edges(
    guide: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["resolve", "--catalog", guide, "--installed", "a=0.1.0", "--installed", "c=0.1.0", "a"]) == 0
    assert "a 0.2.0 (a.v0.2.0, catalog community)\n" in capsys.readouterr().out


def test_excluded_versions_are_never_chosen_and_are_named(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["resolve", "--catalog", guide, "-o", "json"]
    assert main([*command, "--exclude", "a=0.2.0", "a"]) == 0
    first, second = json.loads(capsys.readouterr().out)["bundles"]
    assert (first["version"], second["package"]) == ("0.1.0", "c")
    assert first["because"][0].endswith(
        "; 0.2.0 is available too, but spec.excludedVersions has it; it requires c 0.1.0"
    )
    assert main([*command, "--exclude", "c=0.1.0", "a"]) == 0, "a version of a possible dependency: it is not needed"
    assert [each["version"] for each in json.loads(capsys.readouterr().out)["bundles"]] == ["0.2.0"]
    assert main([*command, "--exclude", "c=0.2.0", "b"]) == 1
    text = 'c has 0.1.0, 0.2.0, and 0.2.0 would fit, but Operator "c" excludes it (spec.excludedVersions)'
    assert text in json.loads(capsys.readouterr().out)["error"]["message"]
    assert main([*command, "--exclude", "b=0.1.0", "b"]) == 1
    left = 'no version of package "b" is left: spec.excludedVersions has 0.1.0'
    assert json.loads(capsys.readouterr().out)["error"]["message"] == left


def test_a_dependency_is_chosen_without_its_excluded_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = blobs("a", {"1.0.0": [("b", ">=1.0.0")]}), blobs("b", {"1.0.0": [], "1.1.0": []})
    command = ["resolve", "--catalog", catalog(tmp_path / "community", *packages), "-o", "json", "a"]
    assert main([*command, "--exclude", "b=1.1.0"]) == 0
    found = json.loads(capsys.readouterr().out)["bundles"][1]
    assert (found["package"], found["version"]) == ("b", "1.0.0")
    assert found["because"][-1].endswith("; 1.1.0 is available too, but spec.excludedVersions has it")
    assert main([*command, "--exclude", "b=1.1.0", "--installed", "b=1.1.0"]) == 0, "what is installed stays"
    assert json.loads(capsys.readouterr().out)["bundles"][1]["version"] == "1.1.0"


def test_the_first_catalog_has_priority(guide: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mirror = catalog(tmp_path / "mirror", blobs("c", {"0.1.0": []}))
    assert main(["resolve", "--catalog", mirror, "--catalog", guide, "c"]) == 0
    assert "c 0.1.0 (c.v0.1.0, catalog mirror)\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "version"),
    [
        pytest.param([], "0.2.0", id="what is not known of the cluster excludes no version"),
        pytest.param(["--kube-version", "1.34"], "0.1.0", id="the cluster is too old for the newest"),
        pytest.param(["--kube-version", "v1.40.1"], "0.2.0", id="the cluster is new enough"),
    ],
)
def test_the_version_of_kubernetes_excludes_versions(
    arguments: list[str], version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = blobs("a", {"0.1.0": [], "0.2.0": []})
    package[-1]["properties"].append({"type": "olm.csv.metadata", "value": {"minKubeVersion": "1.40.0"}})
    assert main(["resolve", "--catalog", catalog(tmp_path / "community", package), *arguments, "a"]) == 0
    assert capsys.readouterr().out.startswith(f"a {version} (a.v{version}, catalog community)\n")


@pytest.mark.parametrize(
    ("packages", "status"),
    [
        pytest.param(["a@0.1.0"], 0, id="resolved"),
        pytest.param(["a@0.1.0", "b"], 1, id="refused"),
        pytest.param(["a@junk"], 2, id="wrong input"),
    ],
)
def test_the_exit_status_of_the_process(packages: list[str], status: int, guide: str) -> None:
    command = [sys.executable, "-m", "olmctl", "resolve", "--catalog", guide, "-o", "json", *packages]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, bool(ran.stdout)) == (status, status < 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["a@junk"], "is neither a version nor a range", id="a range that cannot be read"),
        pytest.param(["a", "a"], 'package "a" is given twice', id="a package twice"),
        pytest.param(["a=0.1.0"], "a version is given as PACKAGE@VERSION", id="a version after ="),
        pytest.param(["a>=0.1.0"], "a range as PACKAGE@RANGE", id="a range after the name"),
        pytest.param(["@1.0.0"], "is not of the form", id="no package"),
        pytest.param(["a:"], "is not of the form", id="an empty channel"),
        pytest.param(
            ["--installed", "c", "a"], "is not of the form PACKAGE=VERSION", id="no version of what is installed"
        ),
        pytest.param(["--installed", "c=0.1.0", "--installed", "c=0.2.0", "a"], "is given twice", id="installed twice"),
        pytest.param(
            ["--installed", "c=9.9.9", "a"], "the catalogs have 0.1.0, 0.2.0", id="an unknown version that is installed"
        ),
        pytest.param(["--installed", "d=1.0.0", "a"], "no catalog has the package", id="an unknown package"),
        pytest.param(
            ["--exclude", "a", "a"], "--exclude a: it is not of the form PACKAGE=VERSION", id="nothing excluded"
        ),
        pytest.param(["--exclude", "a=1.x", "a"], "--exclude a=1.x: ", id="a range is excluded"),
        pytest.param(["--kube-version", "new", "a"], "--kube-version new", id="a version of Kubernetes"),
        pytest.param(["--catalog", "/nowhere", "a"], "/nowhere: there is no such directory", id="no directory"),
        pytest.param([], "PACKAGE", id="no package at all"),
    ],
)
def test_wrong_input(arguments: list[str], message: str, guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["resolve", "--catalog", guide, *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_an_integer_beyond_float64_in_a_catalog_affects_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = blobs("a", {"0.1.0": []})
    a[2]["properties"].append({"type": "other", "value": int("1" * 400)})
    assert main(["resolve", "--catalog", catalog(tmp_path / "community", a), "-o", "json", "a"]) == 0
    assert [each["version"] for each in json.loads(capsys.readouterr().out)["bundles"]] == ["0.1.0"]
