"""The manifests that `olm suite` is shipped with."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from olmctl.suite.manifests import KEYS_NAMESPACE, SYSTEM_NAMESPACE, load_manifests
from olmkit.errors import OlmError


def test_the_version_is_that_of_the_distribution() -> None:
    manifests = load_manifests()
    assert manifests.version == f"v{version('olm-suite')}"
    assert manifests.image == f"olm-suite:{manifests.version}"


def test_another_namespace_replaces_the_usual_one_everywhere() -> None:
    manifests = load_manifests("registry.example.com/a:b", "elsewhere", "their-keys")
    assert manifests.image == "registry.example.com/a:b"
    for each in manifests.deployments:
        args = each["spec"]["template"]["spec"]["containers"][0]["args"]
        assert args[-2:] == ["--system-namespace=elsewhere", "--keys-namespace=their-keys"]
    assert SYSTEM_NAMESPACE not in str(manifests.objects)
    assert "olm-suite-keys" not in str(manifests.objects)
    assert SYSTEM_NAMESPACE not in str(manifests.console)
    assert SYSTEM_NAMESPACE not in str(manifests.v1)


def test_a_suite_in_the_namespace_of_olm_v1_has_what_its_clients_look_for_there() -> None:
    namespace = "olmv1-system"
    manifests = load_manifests(system_namespace=namespace)
    placed = {(each["kind"], each["metadata"]["name"]): each["metadata"].get("namespace") for each in manifests.v1}
    assert placed["Service", "catalogd-service"] == placed["Secret", "catalogd-service-ca"] == namespace
    subjects = [subject for each in manifests.v1 for subject in each.get("subjects", ())]
    assert {subject["namespace"] for subject in subjects} == {namespace}
    (catalogd,) = [each for each in manifests.deployments if each["metadata"]["name"] == "catalogd"]
    arguments = catalogd["spec"]["template"]["spec"]["containers"][0]["args"]
    hosts = [each for each in arguments if each.endswith(".svc")]
    assert hosts
    assert all(each.endswith(f".{namespace}.svc") for each in hosts)
    assert f"--system-namespace={namespace}" in arguments


def test_keys_have_a_namespace_of_their_own() -> None:
    with pytest.raises(OlmError, match=f"--system-namespace is {KEYS_NAMESPACE}, the namespace of the keys"):
        load_manifests(system_namespace=KEYS_NAMESPACE)
