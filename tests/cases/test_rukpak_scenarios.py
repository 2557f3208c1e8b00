"""Each end-to-end scenario of RukPak has a test of ours, or a reason why the suite differs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
GROUPS: dict[str, list[dict[str, Any]]] = yaml.safe_load((Path(__file__).parent / "rukpak_scenarios.yaml").read_text())
SCENARIOS = [pytest.param(each, id=f"{group}: {each['scenario']}") for group, found in GROUPS.items() for each in found]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_has_tests_or_a_reason(scenario: dict[str, Any]) -> None:
    assert scenario.keys() <= {"scenario", "tests", "differs"}
    tests = scenario.get("tests") or []
    assert tests or scenario.get("differs")
    missing = [each for each in tests if not _exists(*each.split("::"))]
    assert missing == []


def _exists(path: str, name: str) -> bool:
    file = REPOSITORY / path
    if not file.is_file():
        return False
    body = ast.parse(file.read_text()).body
    return any(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == name for each in body)
