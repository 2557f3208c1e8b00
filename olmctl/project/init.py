"""`olm bundle init`: writes the base of a project's bundles, with the answers that only people know (sdk 2.4).

Asks only on a terminal, and only what neither an option nor the base answers. Nothing is written before the last answer.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any, Final

import click

from olmctl.authoring.yaml_writer import kubernetes_document
from olmctl.commands import FAILED, WRONG_USAGE, CommandError, warn
from olmctl.project.csv import CSV_SUFFIX, new_base
from olmctl.project.inputs import kustomization_of
from olmctl.project.manifests import BadInput, WrongUsage, read_manifests
from olmctl.project.output import write_files
from olmctl.project.project_file import read_project
from olmctl.project.questions import QUESTIONS, BadAnswer, Question, trimmed
from olmctl.terminal import clean, clean_lines
from olmctl.terminal_output import say
from olmkit.api.names import is_dns1123_label

_PARTS: Final = ("default", "samples", "scorecard")
"""The directories beside that of the base which belong to a bundle, in a project of kubebuilder."""
_ASKED: Final = ("keywords", "maintainers", "provider", "description", "displayName")


def init(package: str, kustomize_dir: str, **answers: str | None) -> int:
    """Write the base and a kustomization."""
    try:
        project = read_project(package)
        _check_name(project.package)
        directory = Path(kustomize_dir)
        path = directory / "bases" / f"{project.package}{CSV_SUFFIX}"
        base, existing = _base(path, project.package)
        _answer(base["spec"], project.package, answers, is_new=not existing)
        if not existing:
            _replace_placeholders(base["spec"])
        files = {} if base == existing else {path: kubernetes_document(base)}
        if kustomization_of(directory) is None:
            files[directory / "kustomization.yaml"] = _kustomization(directory, path.name)
    except BadInput as error:
        status = WRONG_USAGE if isinstance(error, WrongUsage) else FAILED
        raise CommandError(status, clean_lines(str(error))) from None
    if existing and path in files and any(line.lstrip().startswith("#") for line in path.read_text().splitlines()):
        warn(f"{path.as_posix()} is written anew, without its comments")
    for name in write_files(files, directory) or [f"{path.as_posix()} answers everything: nothing is"]:
        say(f"{name} written")
    return 0


def _check_name(package: str) -> None:
    """Raises BadInput for a package that no catalog could have."""
    if not is_dns1123_label(package):
        text = "lower-case letters and digits, joined by '-', at most 63 of them: choose another one with --package"
        raise WrongUsage(f"{package!r} is no name of a package: {text}")


def _base(path: Path, package: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The base to change, and the base as the file has it, {} if there is none. Raises BadInput."""
    if not path.is_file():
        return new_base(package), {}
    manifests = read_manifests(path.read_bytes(), path.as_posix())
    found = next((each for each in manifests if each.kind == "ClusterServiceVersion"), None)
    if found is None or len(manifests) > 1:
        raise BadInput(f"{path.as_posix()}: has to be one ClusterServiceVersion, the base of the bundle")
    if not isinstance(found.body.setdefault("spec", {}), dict):
        raise found.refuse(("spec",), "spec: must be a mapping")
    return copy.deepcopy(found.body), found.body


def _answer(spec: dict[str, Any], package: str, answers: dict[str, str | None], *, is_new: bool) -> None:
    """Write the answers of options and of the person into the spec. Raises BadInput, click.Abort."""
    if is_new:
        for name in _ASKED:
            spec.pop(name, None)
    open_questions: list[Question] = []
    for question in QUESTIONS:
        given = answers.get(question.name)
        if given is not None:
            _apply(question, spec, given)
        elif not question.is_answered(spec):
            open_questions.append(question)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        _take_defaults(open_questions, spec, package)
        return
    for question in open_questions:
        _ask(question, spec, package)


def _replace_placeholders(spec: dict[str, Any]) -> None:
    """Leave out the icon and the link that a new base has without an answer; the page of the provider is a link."""
    del spec["icon"], spec["links"]
    if url := spec["provider"].get("url"):
        spec["links"] = [{"name": spec["displayName"], "url": url}]


def _apply(question: Question, spec: dict[str, Any], answer: str) -> None:
    text = trimmed(answer)
    if question.is_required and not text:
        raise WrongUsage(f"{question.option}: is empty")
    try:
        question.apply(spec, text)
    except BadAnswer as error:
        raise WrongUsage(f"{question.option}: {error}") from None


def _take_defaults(questions: list[Question], spec: dict[str, Any], package: str) -> None:
    """Without a terminal, what has a default gets it, and what is required is named."""
    missing = [question.option for question in questions if question.is_required and not question.default(package)]
    if missing:
        raise WrongUsage(f"{', '.join(missing)}: must be given, because there is no terminal to ask on")
    for question in questions:
        if question.is_required:
            question.apply(spec, question.default(package))


def _ask(question: Question, spec: dict[str, Any], package: str) -> None:
    """Ask until there is an answer that can be used."""
    while True:
        say(f"\n{question.prompt(package)}", end="", err=True)
        line = sys.stdin.readline()
        if not line:
            raise click.Abort
        answer = trimmed(line) or question.default(package)
        if not answer and question.is_required:
            say("Input is required.", err=True)
            continue
        try:
            question.apply(spec, answer)
        except BadAnswer as error:
            say(clean(str(error)), err=True)
            continue
        return


def _kustomization(directory: Path, base: str) -> str:
    """The file with which `kustomize build` collects the base and the parts of the project that exist."""
    parts = [f"../{part}" for part in _PARTS if kustomization_of(directory.parent / part) is not None]
    lines = ["# The manifests from which `olm bundle generate` makes the bundle.", "resources:", f"- bases/{base}"]
    return "\n".join((*lines, *(f"- {part}" for part in parts))) + "\n"
