"""`olm why` against a real API server."""

from __future__ import annotations

import json

from tests.cluster.olmctl.conftest import NO_CONTROLLER, NO_RUKPAK, NO_SUITE, Desk, condition

HOSTILE = "package 'a' \u202egnp.exe\x1b[31m not found"


def test_the_resolution_and_the_conditions(desk: Desk) -> None:
    ready = condition("Ready", "False", "NotResolved", HOSTILE)
    name = desk.operator("a", {"resolution": HOSTILE, "conditions": [ready]}, channel="beta", version="2.x")
    status, out, err = desk.olm("why", name, NO_SUITE)
    assert (status, err) == (0, NO_CONTROLLER)
    assert "Asked for:   package a, version 2.x, channel beta\n" in out
    assert "State:       NotResolved\nInstalled:   nothing\n" in out
    assert "Resolution:  package 'a' \ufffdgnp.exe\ufffd[31m not found\n" in out
    assert out.splitlines()[-1].split()[:3] == ["Ready", "False", "NotResolved"]
    assert ("\x1b" in out, "\u202e" in out) == (False, False)


def test_a_message_of_several_conditions_is_printed_once(desk: Desk) -> None:
    blocked = "the account a/b lacks permissions"
    found = [condition(each, "False", "Blocked", blocked) for each in ("Installed", "Ready")]
    found += [condition(each, "False", "Blocked", "") for each in ("Healthy", "Resolved")]
    name = desk.operator("a", {"conditions": [*found, condition("Stalled", "True", "Blocked", blocked)]})
    lines = desk.olm("why", name, NO_SUITE)[1].splitlines()
    shown = [line.split(maxsplit=3) for line in lines[lines.index("") + 2 :]]
    assert [(row[0], row[3]) for row in shown] == [
        ("Installed", blocked),
        ("Ready", "as Installed"),
        ("Healthy", "<none>"),
        ("Resolved", "<none>"),
        ("Stalled", "as Installed"),
    ]
    stored = json.loads(desk.olm("why", name, NO_SUITE, "-o", "json")[1])["conditions"]
    assert [each["message"] for each in stored] == [blocked, blocked, "", "", blocked]


def test_the_option_that_permits_what_is_refused(desk: Desk) -> None:
    name = desk.operator("a", {"conditions": [condition("Ready", "False", "Blocked", "a CRD exists")]})
    assert "Next:" not in desk.olm("why", name)[1]
    desk.bundle_deployment(name, status={"permittedBy": ["adoptionPolicy"]})
    text = f"Next:        `olm upgrade {name} --adoption-policy IfUnowned` permits what is refused\n"
    assert text in desk.olm("why", name)[1]


def test_json_escapes_what_is_not_printable(desk: Desk) -> None:
    name = desk.operator("a", {"resolution": HOSTILE})
    out = desk.olm("why", name, "-o", "json")[1]
    assert (json.loads(out)["resolution"], "\u202e" in out) == (HOSTILE, False)


def test_no_such_operator(desk: Desk) -> None:
    status, out, err = desk.olm("why", f"{desk.prefix}-x")
    assert (status, out) == (3, "")
    assert err == f'operators.operators.operatorframework.io "{desk.prefix}-x" not found\n'


def test_what_it_requires_and_what_requires_it(desk: Desk) -> None:
    other = desk.operator("b", is_dependency=True)
    name = desk.operator("a", {"dependencies": desk.requiring(other)})
    assert f"Requires:    b 1.0.0 (Operator {other}, installed): it requires b\n" in desk.olm("why", name)[1]
    out = desk.olm("why", other)[1]
    assert f"Required by: {name} (it was installed as a dependency)\n" in out
    assert "Requires:" not in out
    waiting = condition("Ready", "False", "Installing", f"not unpacked: {'x' * 300} is the whole message")
    late = desk.operator("d", {"conditions": [waiting]})
    (required,) = desk.requiring(late)
    other = desk.operator("e", {"dependencies": [{**required, "installed": False}]})
    assert f"; it is not installed: {waiting['message']}\n" in desk.olm("why", other)[1]
    alone = desk.operator("c", is_dependency=True)
    assert "Required by: nothing (it was installed as a dependency)\n" in desk.olm("why", alone)[1]


def test_a_bundle_deployment_without_an_operator(desk: Desk) -> None:
    name = desk.left_installation("left", "p")
    status, out, err = desk.olm("why", name, NO_SUITE)
    assert (status, err) == (0, NO_RUKPAK)
    assert f"Deployment:  {name} (a BundleDeployment without an Operator)\n" in out
    assert "State:       Ready\nInstalled:   nothing\n" in out  # no condition says that it is installed
    assert f"Next:        `olm install p --name {name}` takes it over\n" in out
    assert out.splitlines()[-1].split()[:3] == ["Ready", "True", "Succeeded"]
    found = json.loads(desk.olm("why", name, "-o", "json")[1])
    assert (found["installed"]["version"], len(found["conditions"])) == ("1.0.0", 1)


def test_what_olm_bundle_run_has_made(desk: Desk) -> None:
    package = f"{desk.prefix}-p"
    name = desk.left_installation("run", package, manager="olm")
    removal = f"Next:        `olm bundle cleanup {name}` removes it"
    assert f"{removal}\n" in desk.olm("why", name)[1], "no catalog has the package"
    desk.package("p", "stable")
    adoption = f"`olm install {package} --name {name} --adopt` takes it over"
    assert f"{removal}, and {adoption}\n" in desk.olm("why", name)[1]
