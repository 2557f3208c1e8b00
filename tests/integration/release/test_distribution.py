"""What `make dist` builds: `pip install dist/*.whl` gives the commands in an empty environment, with what it requires alone.

That environment has the packages of this one which the wheel requires, directly or not, and no others. Nothing is downloaded.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from email import message_from_string
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from devcluster.processes import REPOSITORY
from olmctl.suite.manifests import load_manifests
from release import distribution
from release.__main__ import write_release
from release.suite import suite_version

PACKAGES = {"catalogd", "console", "olmctl", "olmkit", "operator_controller", "rukpak"}
IMPORT_ALL = """
import importlib, json, sys
for name in json.load(sys.stdin):
    assert importlib.import_module(name).__file__.startswith(sys.prefix)
"""


@dataclass(frozen=True)
class Installed:
    """An environment in which the wheel is installed."""

    distribution: distribution.Distribution
    programs: Path

    def run(self, program: str, *arguments: str, text: str = "") -> str:
        """The output of a program, which finds no modules but those of the environment. Fails with its error output."""
        command = [str(self.programs / program), *arguments]
        ran = subprocess.run(command, cwd=self.programs, input=text, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_string(archive.read(name).decode())


def required(requirements: list[str]) -> set[str]:
    """The distributions of this environment that the requirements lead to, without those of extras but `console`."""
    found: set[str] = set()
    waiting = [each for each in requirements if "extra ==" not in each or "console" in each.partition("extra ==")[2]]
    while waiting:
        name = re.split(r"[^\w.-]", waiting.pop(), maxsplit=1)[0]
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            needs = metadata.requires(key) or []
        except metadata.PackageNotFoundError:
            continue  # its marker is of another Python or system; pip says if it is missing
        found.add(key)
        waiting += [each for each in needs if "extra ==" not in each]
    return found


def link_packages(names: set[str], site: Path) -> None:
    """Make these distributions of this environment available in another one."""
    for name in names:
        each = metadata.distribution(name)
        for top in {file.parts[0] for file in each.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(each.locate_file(top))))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    directory = tmp_path_factory.mktemp("dist")
    built = distribution.build(directory / "files")
    venv.create(directory / "venv", symlinks=True)
    programs = directory / "venv" / "bin"
    site = directory / "venv" / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    link_packages(required(metadata_of(built.wheel).get_all("Requires-Dist", [])), site)
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-index"]
    ran = subprocess.run([*pip, str(built.wheel)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return Installed(built, programs)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        pytest.param("olm", "olm", id="olm"),
        pytest.param("kubectl-olm", "olm", id="the plugin of kubectl"),
        pytest.param("catalogd", "catalogd", id="catalogd"),
        pytest.param("rukpak", "rukpak", id="rukpak"),
        pytest.param("operator-controller", "operator-controller", id="operator-controller"),
        pytest.param("olm-console", "olm-console", id="the console"),
    ],
)
def test_the_installed_programs_print_the_version_of_the_suite(installed: Installed, program: str, name: str) -> None:
    assert installed.run(program, "--version") == f"{name} {suite_version()}\n"


def test_every_module_of_the_wheel_can_be_imported_with_the_packages_that_it_requires(installed: Installed) -> None:
    files = [name for name in names_in(installed.distribution.wheel) if name.endswith(".py")]
    names = [name.removesuffix(".py").removesuffix("/__init__") for name in files]
    modules = [name.replace("/", ".") for name in names if name.split("/")[0] in PACKAGES and "." not in name]
    assert len(modules) > 500
    installed.run("python", "-I", "-c", IMPORT_ALL, text=json.dumps(modules))


def test_the_wheel_has_the_templates_and_the_assets_of_the_console(installed: Installed) -> None:
    of_repository = {
        path.relative_to(REPOSITORY).as_posix()
        for directory in ("templates", "static")
        for path in (REPOSITORY / "console" / directory).rglob("*")
        if path.is_file()
    }
    assert of_repository - set(names_in(installed.distribution.wheel)) == set()


def test_the_installed_olm_works_with_a_catalog_and_a_bundle(installed: Installed) -> None:
    samples = REPOSITORY / "config" / "samples"
    assert installed.run("olm", "catalog", "validate", str(samples / "catalog")) == ""
    chosen = installed.run("olm", "resolve", "--catalog", str(samples / "catalog"), "-o", "json", "party-operator")
    assert {each["package"] for each in json.loads(chosen)["bundles"]} == {"party-operator", "hello-operator"}
    rendered = installed.run("olm", "bundle", "render", str(samples / "bundles" / "hello-operator" / "0.2.0"))
    assert "Deployment" in {each["kind"] for each in yaml.safe_load_all(rendered)}
    assert installed.run("olm", "suite", "install", "--export").count("kind: Deployment\n") == 3


def test_the_files_are_those_of_the_suite_alone_with_their_types(installed: Installed) -> None:
    names = set(names_in(installed.distribution.wheel))
    information = f"olm_suite-{suite_version()}.dist-info"
    assert {name.split("/")[0] for name in names} == PACKAGES | {information}
    assert names >= {f"{package}/py.typed" for package in PACKAGES}
    with tarfile.open(installed.distribution.source) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames()}
    assert sources >= {name for name in names if not name.startswith(information)}


def test_the_metadata_says_what_the_suite_is_and_where_it_runs(installed: Installed) -> None:
    found = metadata_of(installed.distribution.wheel)
    classifiers = set(found.get_all("Classifier", []))
    assert (found["License-Expression"], found["Requires-Python"]) == ("Apache-2.0", ">=3.11")
    assert found["Description-Content-Type"] == "text/markdown"
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)} <= classifiers
    assert "Typing :: Typed" in classifiers
    assert "kubernetes" in found["Keywords"].split(",")
    assert found["Description"] or found.get_payload()


def test_the_wheel_the_chart_and_the_image_have_the_version_that_olm_prints(
    installed: Installed, tmp_path: Path
) -> None:
    _, _, printed = installed.run("olm", "--version").strip().partition(" ")
    assert metadata_of(installed.distribution.wheel)["Version"] == printed
    write_release(tmp_path)
    with tarfile.open(tmp_path / f"olm-suite-{printed}.tgz") as archive:
        member = archive.extractfile("olm-suite/Chart.yaml")
        assert member is not None
        chart = yaml.safe_load(member)
    assert (chart["version"], chart["appVersion"]) == (printed, f"v{printed}")
    assert load_manifests().image == f"olm-suite:v{printed}"
    assert f"image: olm-suite:v{printed}\n" in (tmp_path / "install.yaml").read_text()
