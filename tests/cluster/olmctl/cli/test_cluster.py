"""The whole text that commands print about Operators and packages, against a real API server without controllers.

Names have no prefix here, each run of blanks or lines is one character, and ages are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.cluster.olmctl.conftest import NO_CONTROLLER, NO_SUITE, Desk, condition

Print = Callable[..., tuple[int, str, str]]
INSTALLED = {"name": "hello.v0.2.0", "version": "0.2.0", "catalog": "c", "channel": "stable"}
NO_SUMMARIES = (
    "warning: provider, keywords and deprecations are not shown for catalog c: catalogd cannot be read through the API server: "
    'services "catalogd-catalogserver" not found\n'
)


@pytest.fixture
def printed(desk: Desk) -> Print:
    """The command, on a cluster with an Operator that has a dependency, a version that waits, and a ConfigMap."""
    desk.package("hello", "stable", versions="0.3.0,0.2.0")
    ready = condition("Ready", "True", "Succeeded", "installed 0.2.0")
    found = {"installed": {**INSTALLED, "version": "1.0.0"}, "conditions": [ready]}
    dependency = desk.operator("dep", found, is_dependency=True)
    status = {
        "installed": INSTALLED,
        "wantedVersion": "0.2.0",
        "resolution": "0.2.0 is the newest version that was approved",
        "available": {
            **{"bundle": "hello.v0.3.0", "version": "0.3.0", "catalog": "c", "channel": "stable", "image": "i"},
            **{"reason": "ApprovalRequired", "message": "0.3.0 waits"},
        },
        "dependencies": desk.requiring(dependency),
        "conditions": [condition("Resolved", "True", "Succeeded", "installed 0.2.0"), ready],
    }
    package = f"{desk.prefix}-hello"
    name = desk.operator("hello", status, packageName=package, approval="Manual", channel="stable")
    uid = desk.bundle_deployment(name, "ConfigMap")
    metadata = {"name": f"{desk.prefix}-settings", "namespace": "default"}
    desk.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, uid=uid)

    def shown(text: str) -> str:
        plain = re.sub(r"[ ─]+", lambda blanks: blanks[0][0], text.replace(f"{desk.prefix}-", ""))
        return re.sub(r"\b\d+s\b", "", plain)

    def run(*arguments: str) -> tuple[int, str, str]:
        status, out, err = desk.olm(*(each.replace("@", desk.prefix) for each in arguments), NO_SUITE)
        return status, shown(out), shown(err)

    return run


def test_what_is_installed(printed: Print) -> None:
    assert printed("list", "-o", "wide") == (
        0,
        "NAME PACKAGE VERSION WANTED AVAILABLE CHANNEL CATALOG STATUS AGE OWNER MESSAGE\n"
        "dep dep 1.0.0 <none> <none> stable c Ready  <none> installed 0.2.0\n"
        "hello hello 0.2.0 0.2.0 0.3.0 stable c Ready  <none> installed 0.2.0\n",
        NO_CONTROLLER,
    )
    assert printed("why", "@-hello") == (
        0,
        "Operator: hello\nAsked for: package hello, channel stable\nState: Ready\n"
        "Installed: 0.2.0 from catalog c, channel stable\nAvailable: 0.3.0 waits (olm approve hello)\n"
        "Resolution: 0.2.0 is the newest version that was approved\n"
        "Requires: dep 1.0.0 (Operator dep, installed): it requires dep\n\n"
        "CONDITION STATUS REASON MESSAGE\nResolved True Succeeded installed 0.2.0\nReady True Succeeded as Resolved\n",
        NO_CONTROLLER,
    )
    assert printed("tree", "@-hello") == (
        0,
        "NAME STATE MESSAGE\nOperator/hello Ready 0.2.0 from catalog c, channel stable\n"
        "├─Operator/dep Ready 1.0.0 from catalog c, channel stable\n└─BundleDeployment/hello Pending\n"
        " └─ConfigMap/default/settings Healthy\n",
        NO_CONTROLLER,
    )
    assert printed("uninstall", "@-hello", "--dry-run") == (
        0,
        "Operator hello (0.2.0 from catalog c, channel stable) will be deleted.\n 1 ConfigMap\n"
        "Operator dep (1.0.0 from catalog c, channel stable), a dependency of it, will be deleted after it.\n",
        "",
    )


def test_what_is_offered(printed: Print) -> None:
    assert printed("search", "@") == (
        0,
        "PACKAGE CATALOG LATEST INSTALLED PROVIDER DESCRIPTION\nhello c <none> 0.2.0 <none> <none>\n",
        NO_SUMMARIES,
    )
    assert printed("show", "@-hello") == (
        0,
        "Package: hello\nCatalog: c\nVersions: 0.3.0, 0.2.0\n"
        "Installed: 0.2.0 from catalog c, channel stable (Operator hello)\n\n"
        "CHANNEL HEAD VERSION ENTRIES\nstable hello.v1.0.0 <none> 1\n",
        NO_SUMMARIES,
    )
    claimed = "package hello is already managed by Operator hello: change that one (olm upgrade hello)"
    assert printed("install", "@-hello", "--name", "other") == (5, "", f"{claimed}\n")
    assert printed("install", "@-hello", "--channel", "no") == (
        3,
        "",
        "package hello has no channel no: it has stable\n",
    )
    assert printed("upgrade", "@-hello", "--version", "9.9.9") == (
        3,
        "",
        "package hello has no version 9.9.9: it has 0.2.0, 0.3.0\n",
    )
