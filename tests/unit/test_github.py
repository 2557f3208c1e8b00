"""What .github and the Makefile say about the repository is true: targets, commands of olm, tiers of tests, versions of Python.

actionlint and zizmor check the workflows themselves (`make check`).
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from olmctl.main import olm

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEXTS = sorted(path for path in (ROOT / ".github").rglob("*") if path.suffix in (".yml", ".md"))
SAMPLE = ROOT / "config" / "samples" / "projects" / "greeter" / ".github" / "workflows" / "bundle.yml"
"""The workflow for authors."""
MAKEFILE = (ROOT / "Makefile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOT_LONG = {"corpus"}
"""Markers of tests that `make test` runs."""


def targets() -> set[str]:
    """The targets of the Makefile."""
    return set(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE))


def words(variable: str) -> set[str]:
    """The value of a variable of the Makefile."""
    (value,) = re.findall(rf"^{variable} := (.*)$", MAKEFILE.replace("\\\n", ""), re.MULTILINE)
    return set(value.split())


def recipe(target: str) -> str:
    (found,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    return str(found)


def job(workflow: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text())
    job: dict[str, Any] = found["jobs"][name]
    return job


def sample_steps(name: str) -> list[dict[str, Any]]:
    """The steps of a job of the workflow for authors."""
    steps: list[dict[str, Any]] = yaml.safe_load(SAMPLE.read_text())["jobs"][name]["steps"]
    return steps


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", TEXTS, ids=relative)
def test_the_make_targets_exist(path: Path) -> None:
    commands = re.findall(r"(?:`|run: |^\s*)make ([a-z][a-z0-9 -]*)", path.read_text(), re.MULTILINE)
    assert {target for each in commands for target in each.split()} <= targets()


def test_each_tier_that_make_test_leaves_out_has_a_target_that_runs_at_night() -> None:
    own, long = words("OWN_TIERS"), words("LONG_TIERS")
    assert set(job("nightly", "tier")["strategy"]["matrix"]["tier"]) == own | long | {"unit"} <= targets()
    assert {each for each in own if f"tests/{each}" in recipe(each) + "".join(words("NODE_TESTS"))} == own
    assert {each for each in long if f"-m {each} tests" in recipe(each)} == long


def test_properties_are_tried_with_all_examples_at_night_and_collected_by_one_process() -> None:
    assert "OLM_EXAMPLES_SHARE=1 $(BIN)/pytest" in recipe("unit")
    elsewhere = (ROOT / "tests" / tier for tier in ("cluster", "e2e", "integration"))
    properties = {
        relative(path) for tier in elsewhere for path in tier.rglob("*.py") if "\n@given(" in path.read_text()
    }
    assert properties < words("COLLECTED_ONCE")


def test_make_test_runs_all_tests_but_those_of_these_tiers() -> None:
    """What is neither in a directory of its own nor marked is run by `make test`, wherever it is."""
    busy = re.findall(r"pytest .* \$\(SHORT\) (.*)$", recipe("busy-tiers"), re.MULTILINE)
    ignored = "$(foreach tier,audit $(PURE_TIERS) $(OWN_TIERS),--ignore=tests/$(tier))"
    assert busy == [f"{ignored} $(addprefix --ignore=,$(COLLECTED_ONCE)) tests"]
    pure = re.findall(r"pytest \$\(SHORT\) (.*?) >", recipe("pure-tiers"))
    assert pure == ["$(addprefix tests/,$(PURE_TIERS)) $(COLLECTED_ONCE)"], (
        "the other process runs what these leave out"
    )
    assert "busy-tiers pure-tiers" in recipe("test")
    assert "$(MAKE) --no-print-directory audit" in recipe("test"), "the audit reads what the other tests have logged"
    left_out = re.findall(r"\w+", *re.findall(r"^SHORT := -m \"not \((.*)\)\"$", MAKEFILE, re.MULTILINE))
    markers = {each.partition(":")[0] for each in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}
    assert set(left_out) - {"or"} == words("LONG_TIERS") == markers - NOT_LONG


def test_the_tests_run_on_each_python_that_the_project_names() -> None:
    project = PROJECT["project"]
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    assert job("check", "test")["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"


def test_an_action_is_named_by_one_commit_with_its_version() -> None:
    used = [
        (relative(path), *re.fullmatch(r"([^@ ]+)(?:@([0-9a-f]{40}) # (v[\d.]+))?.*", line).groups())  # type: ignore[union-attr]
        for path in WORKFLOWS
        for line in re.findall(r"uses: (.*)", path.read_text())
    ]
    assert [each for each in used if None in each] == []
    pins = {(action, commit, version) for _, action, commit, version in used}
    assert len(pins) == len({action for action, _, _ in pins})


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=relative)
def test_the_commands_that_an_issue_form_asks_for_exist(path: Path) -> None:
    commands = re.findall(r"^\s*olm (.*)$", path.read_text(), re.MULTILINE)
    assert commands
    for each in commands:
        words = each.partition(" > ")[0].split()
        command: click.Command = olm
        while words and isinstance(command, click.Group) and not words[0].startswith("-"):
            command = command.commands[words.pop(0)]
        known = {option for each in command.get_params(click.Context(command)) for option in each.opts}
        assert {word for word in words if word.startswith("-")} <= known


@pytest.mark.parametrize(
    ("tag", "status", "output"),
    [
        pytest.param("v0.2.0", 0, "", id="that is its version"),
        pytest.param("v0.3.0", 1, "::error::the tag v0.3.0 has a bundle of version 0.2.0\n", id="that is another one"),
    ],
)
def test_an_author_releases_the_bundle_of_the_tag(tag: str, status: int, output: str, tmp_path: Path) -> None:
    file = tmp_path / "bundle" / "manifests" / "greeter.clusterserviceversion.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("spec:\n  version: 0.2.0\n")
    (script,) = (
        each["run"] for each in sample_steps("release") if each.get("name") == "The tag is the version of the bundle"
    )
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(
        shell, cwd=tmp_path, env={**os.environ, "GITHUB_REF_NAME": tag}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, output, "")


def test_releases_of_an_author_do_not_run_at_once() -> None:
    concurrency = yaml.safe_load(SAMPLE.read_text())["jobs"]["release"]["concurrency"]
    assert concurrency == {"group": "bundle-catalog", "cancel-in-progress": False}


def test_only_the_catalog_of_a_release_is_that_of_main() -> None:
    checkouts = [each["with"] for each in sample_steps("release") if "checkout" in each.get("uses", "")]
    assert [(each.get("ref"), each.get("path")) for each in checkouts] == [(None, None), ("main", "main")]
    (publish,) = (each["run"] for each in sample_steps("release") if each.get("name") == "Publish")
    assert "olm bundle push bundle " in publish
    assert "--catalog main/catalog " in publish
