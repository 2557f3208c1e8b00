"""`olm bundle generate`: which files it writes, keeps, removes and names, and what it refuses."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from olmctl.main import main
from tests.project_input import base, binding, deployment, operator, role, service, stream, write, write_all
from tests.usage import error_of

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old, namespace: tea}\ndata: {a: b}\n"
SCORECARD = """\
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
metadata: {name: config}
stages: [{tests: [{image: 'a:1'}]}]
"""
CSV = "bundle/manifests/kettle-operator.clusterserviceversion.yaml"
ANNOTATIONS = "bundle/metadata/annotations.yaml"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Makes a text standard input, as `<` does."""
    files = []

    def pipe(text: str) -> None:
        path = tmp_path / "stdin"
        path.write_text(text)
        files.append(path.open())
        monkeypatch.setattr(sys, "stdin", files[-1])

    yield pipe
    for file in files:
        file.close()


def generate(
    *arguments: str, package: str = "kettle-operator", source: tuple[str, ...] = ("--input-dir", "deploy")
) -> int:
    return main(["bundle", "generate", "--package", package, "--version", "0.1.0", *source, *arguments])


def state() -> dict[str, tuple[bytes, int]]:
    """The bytes and the time of the last change of each file."""
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in Path().rglob("*") if path.is_file()}


def manifests() -> list[str]:
    return sorted(path.name for path in Path("bundle/manifests").iterdir())


def test_a_second_run_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, operator(service(), CONFIG_MAP, SCORECARD), base_text=base())
    assert generate() == 0
    before = state()
    assert capsys.readouterr().out.splitlines() == [
        f"{CSV} written",
        "bundle/manifests/tea.example.com_kettles.yaml written",
        "bundle/manifests/kettle-webhook_v1_service.yaml written",
        "bundle/manifests/old_v1_configmap.yaml written",
        "bundle/tests/scorecard/config.yaml written",
        f"{ANNOTATIONS} written",
        "bundle.Dockerfile written",
    ]
    assert generate() == 0
    assert state() == before
    assert capsys.readouterr().out == "bundle is up to date\n"


def test_the_time_of_creation_changes_with_the_csv_only(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for moment, text, expected in (
        ("0", operator(), "1970-01-01T00:00:00Z"),
        ("86400", operator(CONFIG_MAP), "1970-01-01T00:00:00Z"),
        ("172800", operator(CONFIG_MAP, deployment("second")), "1970-01-03T00:00:00Z"),
    ):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", moment)
        write(project, text, base_text=base())
        assert generate() == 0
        assert f'createdAt: "{expected}"' in Path(CSV).read_text()


@pytest.mark.parametrize("text", ["metadata: [1]", "metadata: {annotations: a}", "- 1"])
def test_a_csv_that_cannot_be_read_is_written_anew(text: str, project: Path) -> None:
    write(project, operator(), base_text=base())
    Path(CSV).parent.mkdir(parents=True)
    Path(CSV).write_text(text)
    assert generate() == 0
    assert "createdAt: " in Path(CSV).read_text()


@pytest.mark.parametrize("moment", ["99999999999999", "9" * 30, "9" * 5000])
def test_a_time_of_creation_that_is_none_is_refused(
    moment: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, operator(), base_text=base())
    monkeypatch.setenv("SOURCE_DATE_EPOCH", moment)
    assert generate() == 1
    assert "SOURCE_DATE_EPOCH: is no time between 1970 and 9999 in seconds since 1970" in capsys.readouterr().err


def test_files_of_an_earlier_run_are_removed_and_others_are_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, operator(CONFIG_MAP), base_text=base())
    assert generate() == 0
    write_all(
        project,
        [
            ("bundle/manifests/mine_v1_configmap.yaml", CONFIG_MAP.replace("old", "mine")),
            ("bundle/manifests/other_v1_configmap.yaml", Path("bundle/manifests/old_v1_configmap.yaml").read_text()),
        ],
    )
    write(project, operator(), base_text=base())
    capsys.readouterr()
    assert generate() == 0
    out, err = capsys.readouterr()
    assert out == "bundle/manifests/old_v1_configmap.yaml removed\n"
    for name in ("mine", "other"):
        assert (
            f"warning: bundle/manifests/{name}_v1_configmap.yaml is not from this command, and stays in the bundle\n"
            in err
        )


def test_nothing_is_removed_from_a_directory_that_was_not_generated(project: Path) -> None:
    write(project, operator(CONFIG_MAP), base_text=base())
    assert generate("--output-dir", "first") == 0
    text = Path("first/manifests/old_v1_configmap.yaml").read_text()
    write_all(project, [("bundle/manifests/old_v1_configmap.yaml", text)])
    write(project, operator(), base_text=base())
    assert generate() == 0
    assert "old_v1_configmap.yaml" in manifests()


def test_of_two_objects_with_one_file_the_second_gets_another_name(project: Path) -> None:
    write(project, operator(CONFIG_MAP, CONFIG_MAP, CONFIG_MAP.replace("tea", "cups")))
    assert generate("--manifests") == 0
    assert [name for name in manifests() if "configmap" in name] == [
        "dup0_old_v1_configmap.yaml",
        "old_v1_configmap.yaml",
    ]
    write(project, operator(CONFIG_MAP))
    assert generate("--manifests") == 0
    assert [name for name in manifests() if "configmap" in name] == ["old_v1_configmap.yaml"]


def test_a_binding_with_other_subjects_never_refers_to_a_role_that_is_gone(project: Path) -> None:
    write(project, operator(role("a"), binding("a", "a", "kettle", "user:ada")))
    assert generate("--manifests") == 0
    text = Path("bundle/manifests/a_rbac.authorization.k8s.io_v1_clusterrolebinding.yaml").read_text()
    assert "ada" in text
    assert "kettle" not in text
    assert "a_rbac.authorization.k8s.io_v1_clusterrole.yaml" in manifests()


def test_own_annotations_and_labels_stay(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, operator())
    assert generate() == 0
    with Path(ANNOTATIONS).open("a") as file:
        file.write("  com.redhat.openshift.versions: v4.12\n")
    assert generate("--channels", "stable, fast", "--default-channel", "stable") == 0
    text = Path(ANNOTATIONS).read_text()
    assert text.endswith("\n\n  com.redhat.openshift.versions: v4.12\n")
    assert "channels.v1: stable,fast\n" in text
    assert "LABEL com.redhat.openshift.versions=v4.12\n" in Path("bundle.Dockerfile").read_text()
    capsys.readouterr()
    assert generate("--metadata") == 0
    change = f"warning: the channels stable,fast of {ANNOTATIONS} become alpha, because --channels is not given\n"
    assert capsys.readouterr().err == change
    assert generate("--metadata") == 0
    assert capsys.readouterr().err == ""


def test_channels_with_blanks_are_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, operator())
    assert generate("--channels", "stable fast") == 2
    text = "--channels: 'stable fast' is no name of a channel: write channels with commas, such as stable,fast\n"
    assert error_of(capsys.readouterr().err) == text
    assert not Path("bundle").exists()


def test_the_dockerfile_copies_from_its_own_directory(
    project: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, operator())
    assert generate("--output-dir", str(Path.cwd() / "made")) == 0
    assert "COPY made/manifests /manifests/\n" in Path("bundle.Dockerfile").read_text()
    assert "cannot copy" not in capsys.readouterr().err
    outside = tmp_path_factory.mktemp("outside")
    assert generate("--output-dir", str(outside)) == 0
    text = f"bundle.Dockerfile cannot copy {outside}, which is outside this directory: `olm bundle build` needs no such file"
    assert text in capsys.readouterr().err


def test_a_missing_min_kube_version_is_said_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, operator())
    assert generate() == 0
    assert capsys.readouterr().err.count("minKubeVersion") == 1


def test_an_annotation_of_several_lines_is_no_instruction_of_the_dockerfile(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, operator(), base_text=base())
    assert generate() == 0
    with Path(ANNOTATIONS).open("a") as file:
        file.write('  com.example.a: |\n    x\n    RUN evil\n  "b\\nRUN evil": c\n')
    capsys.readouterr()
    for _ in range(2):
        assert generate() == 0
        assert "RUN" not in Path("bundle.Dockerfile").read_text()
        errors = capsys.readouterr().err
        assert f"{ANNOTATIONS}: 'com.example.a' is no label of bundle.Dockerfile: its value has a line break" in errors
        assert f"{ANNOTATIONS}: 'b\\nRUN evil' is no label of bundle.Dockerfile: its key has" in errors
    assert "    RUN evil\n" in Path(ANNOTATIONS).read_text()


@pytest.mark.parametrize(
    "source", [pytest.param(("--input-dir", "deploy"), id="directory"), pytest.param((), id="stdin")]
)
def test_without_overwrite_the_metadata_of_the_output_stays(
    project: Path, source: tuple[str, ...], piped: Callable[[str], None]
) -> None:
    write_all(project, [(ANNOTATIONS, "annotations: {a: b}\n")])
    if source:
        write(project, operator())
    else:
        piped(operator())
    assert generate("--overwrite=false", source=source) == 0
    assert Path(ANNOTATIONS).read_text() == "annotations: {a: b}\n"
    assert not Path("bundle.Dockerfile").exists()


def test_the_scorecard_of_the_output_is_labelled(project: Path) -> None:
    write(project, operator(SCORECARD))
    assert generate("--manifests") == 0
    assert main(["bundle", "generate", "--package", "kettle-operator", "--metadata"]) == 0
    assert "test.config.v1: tests/scorecard/" in Path(ANNOTATIONS).read_text()
    assert "COPY bundle/tests/scorecard /tests/scorecard/" in Path("bundle.Dockerfile").read_text()


def test_stdout_has_the_objects_and_no_other_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, operator(CONFIG_MAP), base_text=base())
    assert generate("--manifests", "--stdout") == 0
    documents = capsys.readouterr().out.split("\n---\n")
    assert documents[0] == ""
    kinds = [line for text in documents for line in text.splitlines() if line.startswith("kind:")]
    assert kinds == ["kind: ClusterServiceVersion", "kind: CustomResourceDefinition", "kind: ConfigMap"]
    assert not Path("bundle").exists()


def test_the_package_and_the_layout_are_those_of_the_project(project: Path) -> None:
    write(project, operator(), base_text=base())
    write_all(project, [("PROJECT", "projectName: kettle-operator\nlayout: [go.kubebuilder.io/v4, a/v1]\n")])
    assert main(["bundle", "generate", "--input-dir", "deploy", "-q"]) == 0
    assert "project_layout: go.kubebuilder.io/v4,a/v1" in Path(ANNOTATIONS).read_text()
    assert "name: kettle-operator.v0.0.0" in Path(CSV).read_text()


def test_a_redirected_file_is_read(piped: Callable[[str], None]) -> None:
    piped(stream(operator(), base()))
    assert generate(source=()) == 0
    assert "displayName: Kettle\n" in Path(CSV).read_text()


def test_definitions_of_another_directory_come_in_place_of_those_of_the_input(project: Path) -> None:
    crd, rest = operator().split("---\n", 1)
    write(project, rest)
    write_all(project, [("crds/a.yaml", crd), ("crds/below/b.yaml", "no YAML: [")])
    assert generate("--manifests", source=("--deploy-dir", "deploy", "--crds-dir", "crds")) == 0
    assert "tea.example.com_kettles.yaml" in manifests()


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        pytest.param({"a.yaml": "a: [\n"}, (), "deploy/a.yaml:2: is no YAML: ", id="a file that is no YAML"),
        pytest.param({"a.yaml": "hello\n"}, (), "deploy/a.yaml:1: is no object of Kubernetes", id="a file with text"),
        pytest.param({"a.txt": "hello"}, (), "deploy has no manifests: ", id="a directory without manifests"),
        pytest.param(None, (), "deploy: no such directory", id="no directory"),
        pytest.param(
            {"a.yaml": deployment().replace("spec:\n  selector", "spec:\n  replicas: two\n  selector")},
            (),
            "deploy/a.yaml:5: Deployment kettle: spec.replicas: must be a whole number, not text",
            id="a field of another type",
        ),
        pytest.param(
            {"a.yaml": operator().replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v2")},
            (),
            "deploy/a.yaml:1: CustomResourceDefinition kettles.tea.example.com: unrecognized CustomResourceDefinition version",
            id="a definition of another version",
        ),
        pytest.param(
            {"a.yaml": operator(CONFIG_MAP.replace("old", "../../old"))},
            (),
            "deploy/a.yaml:",
            id="a name that would leave the directory",
        ),
        pytest.param(
            {"a.yaml": operator(CONFIG_MAP.replace("{name: old, namespace: tea}", "{generateName: a}"))},
            (),
            "deploy/a.yaml:",
            id="no name",
        ),
        pytest.param(
            {"a.yaml": operator(SCORECARD, SCORECARD.replace("config", "b"))}, (), "deploy/a.yaml:", id="two scorecards"
        ),
        pytest.param(
            {"a.yaml": operator()},
            ("--version", "v1"),
            "invalid command options: v1 is not a valid semantic version: No Major.Minor.Patch elements found",
            id="a version that is none",
        ),
        pytest.param(
            {"a.yaml": operator()},
            ("--default-channel", "a\nRUN b"),
            "--default-channel: 'a\\nRUN b' is no name of a channel",
            id="a default channel of two lines",
        ),
        pytest.param(
            {"a.yaml": operator()},
            ("--stdout", "--output-dir", "x"),
            "invalid command options: --output-dir cannot be set if writing to stdout",
            id="two outputs",
        ),
        pytest.param(
            {"a.yaml": operator()},
            ("--deploy-dir", "deploy"),
            "invalid command options: only one of --input-dir or --deploy-dir",
            id="two inputs",
        ),
    ],
)
def test_what_is_refused_changes_nothing(
    project: Path,
    files: dict[str, str] | None,
    arguments: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_all(project, [(f"deploy/{name}", text) for name, text in (files or {}).items()])
    before = state()
    is_usage = message.startswith(("invalid command options: ", "--", "deploy has no", "deploy: no"))
    assert generate(*arguments) == (2 if is_usage else 1)
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"Error: {message}" if is_usage else message)
    assert state() == before


def test_input_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate(source=()) == 2
    ways = "pipe `kustomize build DIR` into this command, name DIR with --input-dir, or let `olm bundle init` write one"
    text = f"there are no manifests: config/manifests has no kustomization: {ways}\n"
    assert error_of(capsys.readouterr().err) == text


def test_two_inputs_are_refused(
    project: Path, piped: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, operator())
    piped(operator())
    assert generate() == 2
    assert (
        "none of --input-dir, --deploy-dir, or --crds-dir may be set if reading from stdin" in capsys.readouterr().err
    )


def test_a_pipe_into_which_nobody_writes_is_no_input(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, operator())
    reader, writer = os.pipe()
    with open(reader) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert generate() == 0
    os.close(writer)


def test_a_package_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", "generate"]) == 2
    assert error_of(capsys.readouterr().err) == "--package <name> must be set if PROJECT config file is not present\n"


def test_what_is_not_in_the_bundle_is_named_with_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = (
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: tea}\n",
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n",
        "apiVersion: tea.example.com/v1alpha1\nkind: Kettle\nmetadata: {name: k}\n",
        "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: i}\n",
        "apiVersion: coffee.example.com/v1\nkind: Pot\nmetadata: {name: p}\n",
    )
    write(project, stream(*others, operator()), base_text=base())
    write_all(project, [("deploy/README.md", "Hello: [\n"), ("deploy/values.yaml", "a: b\n")])
    assert generate() == 0
    assert capsys.readouterr().err.splitlines() == [
        "warning: deploy/README.md: has no manifest, and is not used",
        "warning: deploy/values.yaml: has no manifest, and is not used",
        "warning: Namespace tea (deploy/all.yaml:1) is not in the bundle: "
        "the install namespace is chosen when the bundle is installed",
        "warning: Job j (deploy/all.yaml:5) is not in the bundle: a bundle cannot contain objects of the kind Job",
        "warning: Kettle k (deploy/all.yaml:9) is not in the bundle: "
        "no CustomResourceDefinition of the input serves tea.example.com/v1alpha1",
        "warning: Issuer i (deploy/all.yaml:13) is not in the bundle: "
        "certificates of webhooks are issued when the bundle is installed",
        "warning: Pot p (deploy/all.yaml:17) is not in the bundle: "
        "no CustomResourceDefinition of the input defines Pot of coffee.example.com",
    ]


@pytest.mark.parametrize("link", ["bundle", "bundle/manifests", "bundle/metadata"])
def test_a_link_out_of_the_project_is_refused_before_anything_is_written(
    link: str, project: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, operator())
    outside = tmp_path_factory.mktemp("outside")
    Path(link).parent.mkdir(exist_ok=True)
    Path(link).symlink_to(outside)
    assert generate() == 1
    assert "a link in this path leads out of " in capsys.readouterr().err
    assert not [*outside.iterdir()]
    assert not [path for path in Path("bundle").rglob("*") if path.is_file()]


def test_a_link_at_the_place_of_a_file_is_replaced_and_not_followed(project: Path) -> None:
    write(project, operator())
    write_all(project, [("outside", "mine"), ("bundle/manifests/x", "")])
    Path(CSV).symlink_to(project / "outside")
    assert generate() == 0
    assert Path("outside").read_text() == "mine"
    assert not Path(CSV).is_symlink()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        pytest.param(
            ("--min-kube-version", "auto"), "  minKubeVersion: 1.16.0\n", id="the lowest version of Kubernetes"
        ),
        pytest.param(
            ("--min-kube-version", "1.30.0"), "  minKubeVersion: 1.30.0\n", id="a given version of Kubernetes"
        ),
        pytest.param(
            ("--related-images",),
            "  - image: registry.example.com/kettle:1\n    name: manager\n",
            id="images of containers",
        ),
    ],
)
def test_what_is_added_on_request(project: Path, arguments: tuple[str, ...], line: str) -> None:
    write(project, operator(), base_text=base())
    assert generate() == 0
    assert line not in Path(CSV).read_text()
    assert generate(*arguments) == 0
    assert line in Path(CSV).read_text()


def test_go_types_describe_the_custom_resources(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, operator(), base_text=base())
    marker = "// +operator-sdk:csv:customresourcedefinitions:displayName=A kettle,resources={{Deployment,v1,kettle}}"
    write_all(
        project,
        [("api/v1/kettle_types.go", f"package v1\n// It boils.\n{marker}\ntype Kettle struct{{}}\n")],
    )
    assert generate() == 0
    (owned,) = yaml.safe_load(Path(CSV).read_text())["spec"]["customresourcedefinitions"]["owned"]
    assert (owned["displayName"], owned["description"]) == ("A kettle", "It boils.")
    assert owned["resources"] == [{"kind": "Deployment", "name": "kettle", "version": "v1"}]
    capsys.readouterr()
    assert generate() == 0
    assert capsys.readouterr().out == "bundle is up to date\n"


def test_quiet_prints_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, operator())
    assert generate("-q", "--default-channel", "other") == 0
    assert capsys.readouterr() == ("", "")
