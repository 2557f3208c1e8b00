"""Commands that do what a page does: for a shell, whatever names and texts are."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import Any

import pytest
import yaml

from console.commands import (
    apply,
    approve,
    delete,
    exclude,
    here_document,
    install_commands,
    olm_install,
    pause,
    permit,
    refresh,
    uninstall,
)
from console.forms.operator_form import approved, read
from olmkit.api.meta import Kind

LABEL = "olm.operatorframework.io/metadata.name"
EVIL = "x'; rm -rf / #$(reboot)`reboot`\nEOF\n\"&|"


def test_the_manifest_of_a_form_begins_as_people_write_it() -> None:
    text = install_commands(read({"name": "p"}, {"spec": {"packageName": "p"}}).operator)[2].text
    assert [line.partition(":")[0] for line in text.splitlines()][:3] == ["apiVersion", "kind", "metadata"]


def operator(name: str = "p", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": name},
        "spec": {"packageName": "p", **spec},
    }


def test_the_ways_to_install() -> None:
    found = {each.title: each.text for each in install_commands(operator(channel="stable"))}
    assert list(found) == ["kubectl", "olm", "YAML", "Argo CD", "Flux"]
    assert found["olm"] == "olm install p --channel stable"
    assert yaml.safe_load(found["YAML"]) == operator(channel="stable")
    documents = list(yaml.safe_load_all(found["Argo CD"]))
    assert (documents[0], documents[1]["kind"]) == (operator(channel="stable"), "Application")
    assert [each["kind"] for each in yaml.safe_load_all(found["Flux"])] == ["Operator", "Kustomization"]


OLM = [
    pytest.param(operator(), "olm install p", id="a package"),
    pytest.param(
        operator(channels=["beta", "stable"]), "olm install p --channel beta --channel stable", id="two channels"
    ),
    pytest.param(operator(channels=["*"]), "olm install p --channel '*'", id="every channel"),
    pytest.param(operator("q", version="1.x"), "olm install p --name q --version 1.x", id="another name, a range"),
    pytest.param(
        operator(catalogSelector={"matchLabels": {LABEL: "c"}}), "olm install p --catalog c", id="one catalog"
    ),
    pytest.param(operator(approval="Manual"), "olm install p --approval Manual", id="approval"),
    pytest.param(
        approved(operator(approval="Manual"), "1.2.0"),
        "olm install p --approval Manual\nolm approve p --version 1.2.0",
        id="a version that was reviewed",
    ),
    pytest.param(
        operator(install={"namespace": "x", "namespacePolicy": "MustExist"}),
        "olm install p --namespace x --namespace-policy MustExist",
        id="a namespace of somebody else",
    ),
    pytest.param(
        operator(install={"installModePolicy": "Strict"}), "olm install p --install-mode-policy Strict", id="a policy"
    ),
    pytest.param(
        operator(install={"objectLabels": {"example.com/team": "red", "a": ""}}),
        "olm install p --object-label example.com/team=red --object-label a=",
        id="labels of objects",
    ),
    pytest.param(operator(install={"certificates": "None"}), "", id="a field that olm install has no option for"),
    pytest.param(operator(catalogSelector={"matchLabels": {"a": "b"}}), "", id="other labels"),
]


@pytest.mark.parametrize(("body", "expected"), OLM)
def test_olm_install_is_offered_where_it_does_the_same(body: dict[str, Any], expected: str) -> None:
    assert olm_install(body) == expected


@pytest.mark.parametrize("text", ["plain\n", "EOF", "a\nEOF\nb", f"{EVIL}\nEOF1\n"])
def test_no_text_ends_its_here_document(text: str) -> None:
    answer = subprocess.run(["sh", "-c", here_document("cat", text)], capture_output=True, text=True, check=True)
    assert answer.stdout == text.rstrip("\n") + "\n"


def test_names_are_quoted() -> None:
    kind = Kind("g.example.com", "v1", "K", "ks", namespaced=True)
    made = [
        *approve(EVIL, EVIL),
        *pause(EVIL, is_paused=True),
        *exclude(EVIL, EVIL),
        *permit(EVIL, EVIL, is_forced=True),
        *uninstall(EVIL),
        *refresh(EVIL, EVIL),
    ]
    made += delete(kind, EVIL, EVIL)
    for command in made:
        words = shlex.split(command.text)
        assert any(EVIL in word for word in words)
        assert "rm" not in words
    body = operator(EVIL, channel=EVIL)
    script = apply(body).replace("kubectl apply -f -", "cat", 1)
    answer = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert yaml.safe_load(answer.stdout) == body
    assert json.loads(shlex.split(pause("a", is_paused=False)[0].text)[-1]) == {"spec": {"paused": None}}
