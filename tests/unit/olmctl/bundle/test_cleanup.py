"""What `olm bundle cleanup` says that stays, and about a deletion that has not ended."""

from __future__ import annotations

import json

from olmctl.bundle.cleanup import left, unfinished
from olmctl.questions.installed_objects import NAMESPACE, InstalledObject, InstalledObjects
from olmctl.questions.left_installations import LeftInstallation
from tests.unit.olmctl.bundle.installations import deployment

KIND = {"group": "tools.example.com", "version": "v1", "kind": "Tool"}
PROPERTIES = [
    {"type": "olm.gvk.required", "value": KIND},
    {"type": "olm.package.required", "value": {"packageName": "tools", "versionRange": ">=1.0.0"}},
    {"type": "olm.gvk", "value": {**KIND, "kind": "Own"}},
]


def test_what_stays_is_named() -> None:
    found = deployment("widgets", installed={"properties": json.dumps(PROPERTIES)})
    found["status"]["released"] = [{"kind": "CustomResourceDefinition", "name": "old.example.com"}]
    namespaces = [InstalledObject(NAMESPACE, {"metadata": {"name": name}}, "Healthy", "") for name in ("own", "shared")]
    lines = list(left(LeftInstallation(found), InstalledObjects(tuple(namespaces), (), frozenset({"own"}))))
    assert lines == [
        "  Namespace shared will stay: it was there before, others use it, or it is to be kept",
        "  CustomResourceDefinition old.example.com will stay: it is in use",
        "  tools.example.com/v1 Tool will stay: the bundle requires this kind, and has not brought it",
        "  package tools will stay: the bundle requires it, and has not brought it",
    ]


def test_finalizers_are_named_only_while_rukpak_runs() -> None:
    text = "widgets: not deleted within 60 seconds: waiting for rukpak"
    assert unfinished(text, "", "").startswith(
        f"{text}\nthe deletion continues; if the controller of a finalizer is gone"
    )
    assert unfinished(text, "rukpak does not run", "") == text
    stopped = f"{text}, but rukpak does not run: the deletion continues when it runs again (olm suite status)"
    assert unfinished(text, "", "rukpak does not run") == stopped
