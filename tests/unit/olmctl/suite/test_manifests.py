"""The manifests that `olm suite` is shipped with."""

from __future__ import annotations

from importlib.metadata import version

from olmctl.suite.manifests import SYSTEM_NAMESPACE, load_manifests


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
