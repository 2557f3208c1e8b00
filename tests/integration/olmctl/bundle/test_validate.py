"""`olm bundle validate`: its output and exit status, many bundles at once, images, and bundles that are made to harm."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from olmctl.main import main
from olmctl.validation.checks import validated
from tests.bundle_files import CRD, CSV, changed, files, write
from tests.images import push, tar
from tests.servers.local_registry import LocalRegistry

FAULTY = changed(CSV, spec__installModes=[])


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    status = main(["bundle", "validate", "--upstream", *map(str, arguments)])
    return status, capsys.readouterr().out


def outputs(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(capsys, "-o", "json", *arguments)[1].splitlines()]


def test_text_names_the_place_and_the_correction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = json.dumps(FAULTY, indent=2).encode()
    bundle = write(tmp_path / "b", files(text))
    line = text[: text.index(b'"spec"')].count(b"\n") + 1
    assert run(capsys, bundle) == (
        1,
        f"{bundle}/manifests/csv.yaml:{line}: error: install modes not found [install-modes]\n"
        "    Add spec.installModes with the types OwnNamespace, SingleNamespace, MultiNamespace, AllNamespaces.\n"
        f"{bundle}: failed (1 error)\n",
    )


def test_warnings_do_not_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = write(tmp_path / "b", files(changed(CSV, spec__minKubeVersion="")))
    status, text = run(capsys, bundle)
    assert (status, text.splitlines()[-1]) == (0, f"{bundle}: passed (1 warning)")


def test_json_has_the_members_of_upstream_and_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = write(tmp_path / "b", files(FAULTY))
    (found,) = outputs(capsys, bundle)
    (output,) = found["outputs"]
    assert (found["bundle"], found["passed"]) == (str(bundle), False)
    assert output.pop("hint")
    assert output == {
        "type": "error",
        "message": "Error: Value : (lamp-operator.v1.2.3) install modes not found",
        "validator": "csv",
        "errorType": "CSVFileNotValid",
        "field": "",
        "value": "",
        "file": "manifests/csv.yaml",
        "line": 1,
        "rule": "install-modes",
        "extra": False,
    }


def test_a_bundle_without_a_fault_has_no_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = write(tmp_path / "b", files())
    assert outputs(capsys, bundle) == [{"bundle": str(bundle), "passed": True, "outputs": []}]


def test_many_bundles_are_printed_in_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundles = [write(tmp_path / str(number), files(FAULTY if number % 5 == 0 else CSV)) for number in range(20)]
    found = outputs(capsys, *bundles)
    assert [each["bundle"] for each in found] == [*map(str, bundles)]
    assert [each["passed"] for each in found] == [number % 5 != 0 for number in range(20)]
    status, text = run(capsys, *bundles)
    assert (status, text.splitlines()[-1]) == (1, "20 bundles: 16 passed, 4 failed; 4 errors")


def test_a_bundle_whose_process_ends_fails_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundles = [write(tmp_path / str(number), files()) for number in range(12)]

    def dying(tree: Any, origin: str, *more: Any) -> Any:
        if origin == str(bundles[5]):
            os._exit(9)
        return validated(tree, origin, *more)

    monkeypatch.setattr("olmctl.bundle.validate.validated", dying)
    monkeypatch.setattr("olmctl.bundle.validate._cores", lambda: 2)
    found = outputs(capsys, *bundles)
    assert [each["bundle"] for each in found if not each["passed"]] == [str(bundles[5])]
    assert len(found) == 12


def test_a_bundle_that_needs_too_much_memory_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def greedy(*arguments: Any) -> Any:
        return validated(*arguments), bytearray(128 * 1024**2)

    bundle, before = write(tmp_path / "b", files(CSV)), resource.getrlimit(resource.RLIMIT_AS)
    monkeypatch.setattr("olmctl.bundle.validate.validated", greedy)
    monkeypatch.setattr("olmctl.work_limits.MEMORY", 64 * 1024**2)
    (found,) = outputs(capsys, bundle)
    assert [each["message"] for each in found["outputs"]] == ["its checks need too much memory"]
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_an_image_is_pulled(tmp_path: Path, capsys: pytest.CaptureFixture[str], local_registry: LocalRegistry) -> None:
    push(local_registry.address, "validate/lamp", "v1", [tar(files(FAULTY))], {})
    image = f"{local_registry.address}/validate/lamp:v1"
    options = ("--registries-conf", local_registry.registries_conf, "--allow-source-cidr", "127.0.0.0/8")
    (found,) = outputs(capsys, *options, image)
    assert (found["bundle"], found["passed"]) == (image, False)
    assert [each["rule"] for each in found["outputs"]] == ["install-modes"]
    (missing,) = outputs(capsys, *options, f"{local_registry.address}/validate/none:v1")
    assert "validate/none" in missing["outputs"][0]["message"]


def test_the_image_of_an_operator_is_no_bundle(
    capsys: pytest.CaptureFixture[str], local_registry: LocalRegistry
) -> None:
    push(local_registry.address, "validate/operator", "v1", [tar({"manager": b""})], {})
    image = f"{local_registry.address}/validate/operator:v1"
    options = ["--registries-conf", str(local_registry.registries_conf), "--allow-source-cidr", "127.0.0.0/8"]
    text = (
        f'"{image}" is the image of no bundle, because it has no directory /manifests: if it is the image of the operator '
        "itself, give that of its bundle"
    )
    (found,) = outputs(capsys, *options, image)
    assert [each["message"] for each in found["outputs"]] == [text]
    for command in (["bundle", "scorecard", image], ["catalog", "add", image]):
        assert main([*command, *options]) == 1
        assert capsys.readouterr().err == f"{text}\n"


def test_links_lead_nowhere_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "secret.yaml").write_text("kind: Secret\npassword: hunter2\n")
    bundle = write(tmp_path / "b", files())
    (bundle / "manifests" / "extra.yaml").symlink_to(tmp_path / "secret.yaml")
    (found,) = outputs(capsys, bundle)
    text = f"Unable to read file {bundle}/manifests/extra.yaml in bundle"
    assert [each["message"] for each in found["outputs"]] == [text]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[" * 100_000, id="nested without an end"),
        pytest.param(b"a: &a [x]\n" + b"".join(b"b%d: [*a,*a]\n" % i for i in range(50_000)), id="aliases"),
        pytest.param(
            b"a0: &a0 x\n"
            + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 20)),
            id="a billion laughs",
        ),
        pytest.param(b"kind: X\nmetadata: {name: " + b"a" * 1_000_000 + b"/}\n", id="a long name"),
        pytest.param(b"kind: ConfigMap\nmetadata: {labels: {" + b"a/b/c: x, " * 100_000 + b"}}\n", id="many labels"),
        pytest.param(b"\x00\x01\x02", id="bytes"),
        pytest.param(b"kind: [ConfigMap]\nmetadata: [1]\n", id="other types"),
    ],
)
def test_no_manifest_takes_long_or_crashes(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    bundle = write(tmp_path / "b", files(extra=content))
    (found,) = outputs(capsys, bundle)
    assert not found["passed"]


def test_pipes_and_too_many_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = write(tmp_path / "b", files(crd=CRD))
    os.mkfifo(bundle / "pipe")
    assert outputs(capsys, bundle)[0]["passed"]
    monkeypatch.setattr("olmctl.validation.file_tree.MAX_FILES", 3)
    (found,) = outputs(capsys, bundle)
    assert found["outputs"][0]["message"] == f"{bundle} has more than 3 files"
