"""How many upgrades of real packages are refused for their CustomResourceDefinitions: docs/crd-upgrades.md says it.

An upgrade is a step from one version of a package to the next one that the corpus has. Custom resources are none at all, or the
samples of the older version (alm-examples), as if somebody had created each of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from semantic_version import Version

from olmctl.diff.definitions import broken_rules
from olmctl.diff.problem_groups import problem_groups
from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from olmkit.crd_safety.compare import storage_version
from olmkit.crd_safety.evidence import Evidence
from olmkit.crd_safety.forms import check_of, is_concerned, wanted_forms
from olmkit.crd_safety.object_evaluation import evaluate
from olmkit.crd_safety.verdict import judge
from rukpak.format import BadBundle, RegistryBundle, read_registry
from rukpak.render.renderer import RenderOptions, render

pytestmark = [pytest.mark.corpus, pytest.mark.scale]

PAGE = Path(__file__).parents[2] / "docs" / "crd-upgrades.md"
NAMESPACES = ("", "system", "other")
"""Namespaces to watch, of which one suits each bundle: all, the operator's own, another one."""
Object = Mapping[str, Any]
Contents = tuple[dict[str, Object], list[Object]]
"""The CustomResourceDefinitions of a bundle, by name, and its samples."""


def read(directory: Path) -> Contents | None:
    files = {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }
    bundle = read_registry(files)
    assert isinstance(bundle, RegistryBundle)
    samples = json.loads(bundle.csv_annotations.get("alm-examples") or "[]")
    definitions = rendered(bundle)  # no API server serves v1beta1 any more
    return ({crd["metadata"]["name"]: crd for crd in definitions}, samples) if definitions is not None else None


def rendered(bundle: RegistryBundle) -> Sequence[Object] | None:
    """The definitions with their conversion webhooks; None if the bundle cannot be installed."""
    for namespace in NAMESPACES:
        try:
            objects = [item.body for item in render(bundle, RenderOptions("system", (namespace,)))]
        except BadBundle:
            continue
        definitions = [body for body in objects if body["kind"] == "CustomResourceDefinition"]
        return definitions if all(body["apiVersion"].endswith("/v1") for body in definitions) else None
    return None


def steps(corpus: Path) -> Iterator[tuple[str, Contents, Contents]]:
    for package in sorted((corpus / "bundles").iterdir()):
        directories = sorted(package.iterdir(), key=lambda directory: Version.coerce(directory.name.split("_")[0]))
        versions = map(read, directories)
        yield from ((package.name, old, new) for old, new in pairwise(versions) if old is not None and new is not None)


def live(crd: Object) -> Object:
    """As the API server has it after the installation."""
    return {**crd, "status": {"storedVersions": [storage_version(crd)]}}


class Step:
    """An upgrade from one version of a package to the next one."""

    def __init__(self, old: Contents, new: Contents) -> None:
        self._before, self._after = {name: live(crd) for name, crd in old[0].items()}, new[0]
        self._samples = old[1]
        self.problems = broken_rules(self._before, self._after)

    def is_refused(self, policy: Any, *, with_samples: bool) -> bool:
        settings = CrdUpgradeSafety(policy=policy)
        evidence = {}
        for form in wanted_forms(self.problems, settings):
            crd, new, evidence[form] = self._before[form.definition], self._after[form.definition], Evidence()
            kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
            objects = [each for each in self._samples if (each["apiVersion"].split("/")[0], each["kind"]) == kind]
            if with_samples and is_concerned(form, new):
                check = check_of(form, self.problems[form.definition], crd, new, settings)
                evidence[form] = evaluate(check, objects)
        return bool(judge(self.problems, evidence, settings).refusal)


def assert_each_change_is_on_one_line(package: str, step: Step) -> None:
    """What `olm diff` says of the fields; argocd-operator has a template in 24 places of one definition."""
    groups = {name: problem_groups(found) for name, found in step.problems.items()}
    for name, found in step.problems.items():
        assert sum(len(group.versions) * len(group.paths) for group in groups[name]) == len(found)
    if package == "argocd-operator":
        assert sum(map(len, groups.values())) <= 10, groups


def test_the_page_tells_how_many_upgrades_of_real_packages_are_refused(corpus: Path) -> None:
    packages, count = set(), 0
    refused: dict[str, list[str]] = {"Enforce": [], "IfUsed": [], "samples": []}
    for package, old, new in steps(corpus):
        packages.add(package)
        count += 1
        step = Step(old, new)
        assert_each_change_is_on_one_line(package, step)
        for policy in ("Enforce", "IfUsed"):
            refused[policy] += [package] * step.is_refused(policy, with_samples=False)
        refused["samples"] += [package] * step.is_refused("IfUsed", with_samples=True)
    text = " ".join(PAGE.read_text().split())
    figures = re.search(
        r"Of (\d+) upgrades of (\d+) packages, (\d+) \((\d+) packages\) are refused by `Enforce`, (\d+) by `IfUsed` while "
        r"no custom resource exists, and (\d+) \((\d+) packages\)",
        text,
    )
    found = [count, len(packages), len(refused["Enforce"]), len(set(refused["Enforce"])), len(refused["IfUsed"])]
    found += [len(refused["samples"]), len(set(refused["samples"]))]
    assert figures is not None
    assert [int(figure) for figure in figures.groups()] == found, refused
