"""Each permission of the controllers is needed by a test, and each request of theirs is permitted.

Reads the audit logs that the API servers of the other tests have written (OLM_AUDIT_DIRECTORY). `make test` runs it last, and
says with OLM_AUDIT_COMPLETE that all tests ran. After a run of some tests it checks only that nothing was refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from devcluster.processes import REPOSITORY
from devcluster.suite import COMPONENTS
from release.kustomization import objects_of
from tests.audit.requests import AuditLogs, Request
from tests.audit.rules import Object, grants, roles_of_people, unused

CONFIG = REPOSITORY / "config"
OBJECTS = objects_of(CONFIG / "rbac")
OF_V1 = objects_of(CONFIG / "v1")
OVERLAY = CONFIG / "least-privilege"


def _least_privilege() -> list[Object]:
    """The objects of the overlay, in which rukpak has Roles, and its ClusterRole other rules."""
    texts = [(OVERLAY / name).read_text() for name in ("cluster-role.yaml", "rukpak.yaml")]
    changed = [each for text in texts for each in yaml.safe_load_all(text) if each]
    replaced = {(each["kind"], each["metadata"]["name"]) for each in changed}
    return [*(each for each in OBJECTS if (each["kind"], each["metadata"]["name"]) not in replaced), *changed]


ROLES: Mapping[str, list[Any]] = {
    "config/rbac": OBJECTS,
    "config/least-privilege": _least_privilege(),
    "config/v1": OF_V1,
}
REFUSED_ON_PURPOSE: Mapping[Request, str] = {}
"""Requests that RBAC refuses in a test, with the test and the reason."""
SHOWN_ELSEWHERE: Mapping[str, str] = {
    "catalogd: olm-suite-catalogd: update catalogs/finalizers": "tests/cluster/test_config.py::"
    "test_who_owns_an_object_may_block_its_deletion",
    "operator-controller: olm-suite-operator-controller: update operators/finalizers": "tests/cluster/test_config.py::"
    "test_who_owns_an_object_may_block_its_deletion",
    "rukpak: olm-suite-rukpak: update bundledeployments/finalizers": "tests/cluster/test_config.py::"
    "test_who_owns_an_object_may_block_its_deletion",
    "catalogd: olm-suite-v1-catalogd: update clustercatalogs/finalizers": "tests/cluster/test_config.py::"
    "test_who_owns_an_object_may_block_its_deletion",
    "operator-controller: olm-suite-v1-operator-controller: update clusterextensions/finalizers": "tests/cluster/test_config.py::"
    "test_who_owns_an_object_may_block_its_deletion",
}
"""Verbs of rules that no request shows, and the tests that show them: the admission plugin asks for them."""
OF_PEOPLE: Mapping[str, str] = {
    "olm-suite-viewer": "tests/cluster/test_config.py::test_the_view_and_edit_roles_read_the_kinds_of_the_suite",
    "operator-controller-clusterextension-viewer-role": "tests/cluster/test_config.py::"
    "test_the_view_and_edit_roles_read_the_kinds_of_the_suite",
    "olm-suite-resolution-reader": "tests/cluster/operator_controller/debug/test_server.py",
    "olm-suite-bundle-reader": "tests/cluster/rukpak/bundle/test_content_routes.py",
}
"""Roles that no account of the suite has, and the tests that use them."""


def test_no_request_was_refused(logs: AuditLogs) -> None:
    refused = {request: message for request, message in logs.refused.items() if request not in REFUSED_ON_PURPOSE}
    assert not refused, "\n".join(f"{request}: {message}" for request, message in sorted(refused.items()))


@pytest.mark.parametrize("directory", ROLES)
def test_each_verb_of_each_rule_was_used(logs: AuditLogs, directory: str) -> None:
    granted = grants(ROLES[directory], COMPONENTS)
    left = {str(grant) for grant in unused(granted, logs.allowed)} - SHOWN_ELSEWHERE.keys()
    if not os.environ.get("OLM_AUDIT_COMPLETE"):
        pytest.skip(f"only some tests ran; {len(left)} verbs of rules were not used: {', '.join(sorted(left))}")
    assert not left, "\n".join(["no test used:", *sorted(left)])
    assert set(COMPONENTS) <= {request.account for request in logs.allowed}


def test_what_is_shown_elsewhere_is_still_granted() -> None:
    assert SHOWN_ELSEWHERE.keys() <= {str(grant) for roles in ROLES.values() for grant in grants(roles, COMPONENTS)}


def test_the_roles_of_people_are_these() -> None:
    assert roles_of_people([*OBJECTS, *OF_V1], COMPONENTS) == OF_PEOPLE.keys()


@pytest.mark.parametrize("test", sorted({*SHOWN_ELSEWHERE.values(), *OF_PEOPLE.values(), *REFUSED_ON_PURPOSE.values()}))
def test_the_tests_that_are_named_exist(test: str) -> None:
    path, _, name = test.partition("::")
    assert not name or f"def {name}(" in (REPOSITORY / path).read_text()
    assert (REPOSITORY / path).is_file()
