"""Health and actions of config/argocd for objects that our controllers wrote, as the files in Argo CD's layout expect them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa.lua51 import LuaError

from tests import flux_expressions, kstatus
from tests.argocd_scripts import SCRIPTS, discover_actions, health, run_action
from tests.kstatus import KStatus

Object = dict[str, Any]

HEALTH_TESTS = sorted(SCRIPTS.glob("*/*/health_test.yaml"))
ACTION_TESTS = sorted(SCRIPTS.glob("*/*/actions/action_test.yaml"))
V1_GROUP = "olm.operatorframework.io"
KSTATUS_OF_HEALTH = {
    "Healthy": {KStatus.CURRENT, KStatus.IN_PROGRESS},
    "Suspended": {KStatus.CURRENT, KStatus.IN_PROGRESS},
    "Degraded": {KStatus.FAILED},
    "Progressing": {KStatus.IN_PROGRESS, KStatus.TERMINATING},
}

CONTROLLERS = {
    "Catalog": "catalogd",
    "Bundle": "rukpak",
    "BundleDeployment": "rukpak",
    "Operator": "operator-controller",
}
SUSPENDED_RULE = (
    """-- A person or the operator decides how this goes on: a sync waits, and does not fail.
local suspended = obj.spec.paused == true or ready.reason == "ApprovalRequired"
  or (ready.reason == "OperatorConditionNotUpgradeable" and ready.status ~= "True")

""",
    """elseif suspended then
  health_status.status = "Suspended"
""",
)
"""The rule that only the script of Operators has."""
OWN_RULES = {"Operator": SUSPENDED_RULE, "Catalog": (' and ready.reason ~= "ServingOldContent"',)}
"""Rules that one kind's script has and the others have not."""


def entries(files: list[Path], key: str) -> list[Any]:
    """One parameter per entry of the lists under `key`: the directory of the file, and the entry."""
    found = []
    for path in files:
        for entry in yaml.safe_load(path.read_text())[key]:
            label = f"{path.relative_to(SCRIPTS).parts[1]} {entry.get('action', '')} {Path(entry['inputPath']).stem}"
            found.append(pytest.param(path.parent, entry, id=" ".join(label.replace("-", " ").split())))
    return found


def read(directory: Path, path: str) -> Object:
    loaded: Object = yaml.safe_load((directory / path).read_text())
    return loaded


def drop_empty(value: Any) -> Any:
    """Without empty lists and objects, which Lua cannot tell apart."""
    if isinstance(value, dict):
        kept = {key: drop_empty(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each not in ({}, [])}
    return [drop_empty(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("directory", "entry"), entries(HEALTH_TESTS, "tests"))
def test_health(directory: Path, entry: Object) -> None:
    obj = read(directory, entry["inputPath"])
    expected = entry["healthStatus"]
    assert health(obj) == (expected["status"], expected["message"])
    if directory.parent.name == V1_GROUP:  # no kstatus: the same rules are those of Flux
        is_healthy, is_failed = (expected["status"] == each for each in ("Healthy", "Degraded"))
        status = KStatus.CURRENT if is_healthy else KStatus.FAILED if is_failed else KStatus.IN_PROGRESS
        assert obj["metadata"].get("deletionTimestamp") or flux_expressions.compute(obj) == status
        return
    assert kstatus.compute(obj) in KSTATUS_OF_HEALTH[expected["status"]]
    if not obj["metadata"].get("deletionTimestamp"):
        assert flux_expressions.compute(obj) == kstatus.compute(obj)


def test_the_rules_of_the_four_kinds_are_one_text() -> None:
    """Each script names its controller, and those of Operators and of Catalogs have one rule more."""
    rules = set()
    for script in (each for each in SCRIPTS.glob("*/*/health.lua") if each.parent.parent.name != V1_GROUP):
        text = script.read_text()
        for own in OWN_RULES.get(script.parent.name, ()):
            assert text.count(own) == 1
            text = text.replace(own, "")
        controller = f"Waiting for {CONTROLLERS[script.parent.name]} to report"
        assert text.count(controller) == 1
        rules.add(text.replace(controller, "Waiting for it to report"))
    assert len(rules) == 1


@pytest.mark.parametrize(("directory", "entry"), entries(ACTION_TESTS, "discoveryTests"))
def test_which_actions_are_offered(directory: Path, entry: Object) -> None:
    expected = {action["name"]: action["disabled"] for action in entry["result"]}
    assert discover_actions(read(directory, entry["inputPath"])) == expected


@pytest.mark.parametrize(("directory", "entry"), entries(ACTION_TESTS, "actionTests"))
def test_an_action(directory: Path, entry: Object) -> None:
    obj = read(directory, entry["inputPath"])
    if refusal := entry.get("expectedErrorMessage"):
        with pytest.raises(LuaError, match=refusal):
            run_action(obj, entry["action"])
    else:
        assert drop_empty(run_action(obj, entry["action"])) == drop_empty(read(directory, entry["expectedOutputPath"]))


def test_each_recorded_object_is_in_a_test_and_each_action_is_run() -> None:
    for kind in SCRIPTS.glob("*/*"):
        named = {Path(entry["inputPath"]).name for entry in read(kind, "health_test.yaml")["tests"]}
        assert named == {path.name for path in (kind / "testdata").iterdir()}
    for path in ACTION_TESTS:
        run = {entry["action"] for entry in read(path.parent, path.name)["actionTests"]}
        assert run == {script.parent.name for script in path.parent.glob("*/action.lua")}


def test_a_script_has_no_more_of_lua_than_argo_cd_gives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    obj = {"apiVersion": "a/v1", "kind": "B"}
    script = tmp_path / "a/B/health.lua"
    script.parent.mkdir(parents=True)
    monkeypatch.setattr("tests.argocd_scripts.SCRIPTS", tmp_path)
    for library in ("os", "io", "string", "math", "debug", "coroutine", "package", "python"):
        script.write_text(f"return {{status = tostring({library}), message = ''}}")
        assert health(obj) == ("nil", "")
