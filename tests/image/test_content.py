"""What is in the image, and what is not. `make image` runs it."""

from __future__ import annotations

import filecmp
import hashlib
import json
import re
from pathlib import Path

import pytest

from devcluster.optional_programs import HELM
from devcluster.processes import REPOSITORY
from release import helm, image, wheels
from release.runtime_lock import NOT_IN_IMAGE, versions
from release.suite import suite_version
from tests.image.conftest import Run, Unpacked
from tests.image.unpacking import named_manifests

MAX_BYTES = 212_000_000  # 62 million of them are helm
MACHINE_AUTHORITIES = Path("/usr/local/share/ca-certificates")


def test_a_second_build_gives_the_same_archive(unpacked: Unpacked, tmp_path: Path) -> None:
    second = image.build(tmp_path, print)
    assert second.digest == unpacked.built.digest
    assert filecmp.cmp(second.archive, unpacked.built.archive, shallow=False)
    assert second.sbom.read_bytes() == unpacked.built.sbom.read_bytes()


def test_the_archive_names_the_image_by_version_and_as_the_latest(unpacked: Unpacked) -> None:
    manifests = named_manifests(unpacked.built.archive)
    names = [each["annotations"]["org.opencontainers.image.ref.name"] for each in manifests]
    assert names == [f"olm-suite:v{suite_version()}", "olm-suite:latest"]
    assert {each["digest"] for each in manifests} == {unpacked.built.digest}


def test_its_configuration_is_that_of_the_dockerfile(unpacked: Unpacked) -> None:
    found = unpacked.content.configuration["config"]
    last_stage = (REPOSITORY / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert found["User"] == "65532:65532"
    assert f"\nENV {' '.join(found['Env'])}\n" in last_stage
    assert (found["Cmd"], found["WorkingDir"], "Entrypoint" in found) == (["olm", "--help"], "/", False)
    labels = {name.removeprefix("org.opencontainers.image."): text for name, text in found["Labels"].items()}
    assert labels.keys() == {"title", "description", "licenses", "version", "revision"}
    assert labels["version"] == suite_version()
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", labels["revision"])


def test_it_is_small(unpacked: Unpacked) -> None:
    compressed = sum(blob.size for blob in unpacked.content.blobs[1:])
    print(f"unpacked {unpacked.size / 1e6:.1f} MB, compressed {compressed / 1e6:.1f} MB")
    assert unpacked.size < MAX_BYTES


def test_there_is_no_shell_and_no_program_but_python_and_the_suite(unpacked: Unpacked) -> None:
    found = {path.relative_to(unpacked.tree).as_posix() for path in unpacked.tree.rglob("bin/*")}
    own = (
        "catalogd",
        "rukpak",
        "operator-controller",
        "olm-console",
        "olm",
        "kubectl-olm",
        "kubectl_complete-olm",
        "python",
        "python3",
        "helm",
    )
    assert found == {"usr/bin/python3", "usr/bin/python3.11", *(f"app/bin/{name}" for name in own)}


def test_nothing_has_the_setuid_bit(unpacked: Unpacked) -> None:
    assert [path for path in unpacked.tree.rglob("*") if path.is_file() and path.lstat().st_mode & 0o6000] == []


def test_the_machine_that_builds_leaves_no_trace(unpacked: Unpacked) -> None:
    """Neither its certificate authorities, nor its name servers, nor directories of the build."""
    authorities = (unpacked.tree / "etc/ssl/certs/ca-certificates.crt").read_text()
    own = {digest(text) for path in MACHINE_AUTHORITIES.rglob("*.crt") for text in certificates(path.read_text())}
    assert own.isdisjoint(map(digest, certificates(authorities)))
    assert not (unpacked.tree / "usr/local/share/ca-certificates").exists()
    for name in (
        "etc/resolv.conf",
        "etc/hostname",
        "etc/hosts",
        "etc/apt",
        "var/lib/apt",
        "var/cache/apt",
        "etc/pip.conf",
    ):
        assert not (unpacked.tree / name).exists(), name
    hidden = [str(REPOSITORY), *machine_lines()]
    for path in sorted(unpacked.tree.rglob("*")):
        assert path.name != "direct_url.json"
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            assert not any(each.encode() in content for each in hidden), path


def machine_lines() -> list[str]:
    """A line in the middle of each certificate that this machine trusts in addition to Debian's."""
    return [path.read_text().splitlines()[5] for path in sorted(MACHINE_AUTHORITIES.rglob("*.crt"))]


def certificates(text: str) -> list[str]:
    return re.findall(r"-----BEGIN CERTIFICATE-----\s(.*?)\s-----END CERTIFICATE-----", text, re.DOTALL)


def digest(text: str) -> str:
    return hashlib.sha256("".join(text.split()).encode()).hexdigest()


def test_the_wheels_are_those_of_the_lock_file(unpacked: Unpacked) -> None:
    site = unpacked.tree / "app/lib/python3.11/site-packages"
    metadata = [path.read_text() for path in site.glob("*.dist-info/METADATA")]
    found = {field(text, "Name").lower().replace("_", "-"): field(text, "Version") for text in metadata}
    locked = versions(wheels.read_runtime_lock(REPOSITORY))
    expected = {name: version for name, version in locked.items() if name not in NOT_IN_IMAGE}
    assert found == expected | {"olm-suite": suite_version()}


def field(metadata: str, name: str) -> str:
    return next(line.partition(": ")[2] for line in metadata.splitlines() if line.startswith(f"{name}: "))


def test_the_bill_of_materials_names_each_package_and_each_wheel(unpacked: Unpacked) -> None:
    document = json.loads(unpacked.built.sbom.read_text())
    debian = {path.name for path in (unpacked.tree / "var/lib/dpkg/status.d").iterdir()}
    listed = {each["name"] for each in document["components"]}
    locked = set(versions(wheels.read_runtime_lock(REPOSITORY))) - NOT_IN_IMAGE
    modules = helm.modules(unpacked.tree / "app/bin/helm")
    assert modules[helm.MODULE] == HELM.version
    assert listed == debian | locked | {"olm-suite"} | modules.keys()
    assert "Apache License" in (unpacked.tree / "app/share/licenses/helm/LICENSE").read_text()
    assert document["metadata"]["component"]["hashes"][0]["content"] == unpacked.built.digest.removeprefix("sha256:")


@pytest.mark.parametrize("program", ["catalogd", "rukpak", "operator-controller", "olm-console", "olm", "kubectl-olm"])
def test_each_program_prints_its_version_without_a_writable_file(run: Run, program: str) -> None:
    ran = run(program, "--version")
    printed = "olm" if program == "kubectl-olm" else program
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{printed} {suite_version()}\n", "")


IMPORT_ALL = """
import importlib, os, pkgutil, sys
failed = []
for package in ("olmkit", "catalogd", "rukpak", "operator_controller", "olmctl", "console"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError as error:
                failed.append(f"{module.name}: {error}")
compiled = [each for each in map(lambda module: getattr(module, "__cached__", None), sys.modules.values()) if each]
print(os.getuid(), os.getgid(), failed, [each for each in compiled if not os.path.exists(each)])
"""


def test_all_modules_of_the_suite_can_be_imported_and_are_compiled(run: Run) -> None:
    ran = run("python", "-c", IMPORT_ALL)
    assert (ran.stdout, ran.stderr) == ("65532 65532 [] []\n", "")


def test_jobs_can_be_restricted_in_a_container(run: Run) -> None:
    code = "from olmkit.jobs import landlock, seccomp; print(landlock.abi_version() > 0, seccomp.is_available())"
    assert run("python", "-c", code).stdout == "True True\n"


LIBRARIES = """
import ctypes, pathlib
failed = []
for path in sorted([*pathlib.Path("/app").rglob("*.so"), *pathlib.Path("/usr/lib/python3.11/lib-dynload").glob("*.so")]):
    try:
        ctypes.CDLL(str(path))
    except OSError as error:
        failed.append(str(error))
print(failed)
"""


def test_every_library_finds_those_it_needs(run: Run) -> None:
    ran = run("python", "-c", LIBRARIES)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")


AUTHORITIES = "import ssl; print(len(ssl.create_default_context().get_ca_certs()))"


def test_public_certificate_authorities_are_trusted(run: Run, unpacked: Unpacked) -> None:
    bundled = certificates((unpacked.tree / "etc/ssl/certs/ca-certificates.crt").read_text())
    assert int(run("python", "-c", AUTHORITIES).stdout) == len(bundled) > 100


def test_only_the_temporary_directory_and_the_cache_can_be_written(run: Run) -> None:
    paths = ["/", "/app", "/etc", "/home/nonroot", "/tmp", "/usr/lib", "/var/cache/olm-suite", "/var/tmp"]
    code = f"import os; print([each for each in {paths} if os.access(each, os.W_OK)])"
    assert run("python", "-c", code).stdout == "['/tmp', '/var/cache/olm-suite']\n"
