"""The same change in many fields is one entry."""

from __future__ import annotations

import pytest

from olmctl.diff.problem_groups import problem_groups
from olmkit.api.crd_upgrade_rules import CrdUpgradeRule
from olmkit.crd_safety.problem import Problem


def longer(version: str, path: str, change: str = "none -> 1") -> Problem:
    return Problem(version, path, CrdUpgradeRule.MIN_LENGTH_TIGHTENED, change)


def removed(version: str, path: str) -> Problem:
    return Problem(version, path, CrdUpgradeRule.FIELD_REMOVED, "the field is removed")


@pytest.mark.parametrize(
    ("problems", "texts"),
    [
        pytest.param(
            [longer("v1", "spec.path"), Problem("", "", CrdUpgradeRule.SCOPE_CHANGED, "Namespaced -> Cluster")],
            ["v1: spec.path: min-length-tightened: none -> 1", "scope-changed: Namespaced -> Cluster"],
            id="what is alone is as it was",
        ),
        pytest.param(
            [longer("v1", f"spec.{place}.source.path") for place in ("merge.git", "git", "list")],
            ["v1: spec.git.source.path and 2 more fields that end with source.path: min-length-tightened: none -> 1"],
            id="one structure in several places is one entry",
        ),
        pytest.param(
            [removed(version, f"spec.{name}") for version in ("v1", "v2") for name in ("size", "color")],
            [f"v1, v2: spec.{name}: field-removed: the field is removed" for name in ("size", "color")],
            id="a field has one entry for all versions, and fields of other names have their own",
        ),
        pytest.param(
            [longer("v1", "spec.a.path"), longer("v1", "spec.path"), longer("v2", "spec.path")],
            [
                "v1: spec.a.path: min-length-tightened: none -> 1",
                "v1, v2: spec.path: min-length-tightened: none -> 1",
            ],
            id="fields of other versions are apart",
        ),
        pytest.param(
            [longer("v1", "spec.path"), longer("v1", "status.path", "none -> 2")],
            ["v1: spec.path: min-length-tightened: none -> 1", "v1: status.path: min-length-tightened: none -> 2"],
            id="other changes are apart",
        ),
        pytest.param(
            [longer("v1", "spec.path"), longer("v1", "status.path")],
            ["v1: spec.path and 1 more field that ends with path: min-length-tightened: none -> 1"],
            id="two fields",
        ),
    ],
)
def test_the_same_change_in_many_fields_is_one_entry(problems: list[Problem], texts: list[str]) -> None:
    groups = problem_groups(problems)
    assert list(map(str, groups)) == texts
    assert sum(len(group.paths) * len(group.versions) for group in groups) == len(problems)
