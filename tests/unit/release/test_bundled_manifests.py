"""The manifests that `olm suite` is shipped with."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from olmctl.suite.manifests import SYSTEM_NAMESPACE, load_manifests
from release.kustomization import objects_of


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resources: []\npatches: []\n", "unknown fields patches"),
        (
            "resources: []\nlabels:\n- pairs: {}\n  includeSelectors: true\n",
            "of the fields of labels only pairs is known",
        ),
    ],
    ids=["a field that is not known", "a field of labels that is not known"],
)
def test_what_is_not_known_of_a_kustomization_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "kustomization.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        objects_of(tmp_path)
