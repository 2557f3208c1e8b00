"""The problems of ConfigMaps as the source of a Bundle, in the words of upstream; those of other sources are rows of
tests/unit/rukpak/admission/test_bundles.py."""

from __future__ import annotations

import pytest

from olmkit.api.bundles import BundleSource
from rukpak.bundle.source_problem import source_problem

FIELD = "bundle.spec.source.configmaps"


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        pytest.param([("fixed", None)], "", id="the root"),
        pytest.param([("fixed", "manifests"), ("fixed", "./metadata/")], "", id="two directories"),
        pytest.param([("fixed", "a/../b")], "", id="a path that stays within the content"),
        pytest.param([("fixed", "..a")], "", id="a name that begins with dots"),
        pytest.param([], f'{FIELD} must be set for source type "configmaps"', id="none"),
        pytest.param([("fixed", "../a")], f'{FIELD}[0].path is invalid: "../a" is outside bundle root', id="outside"),
        pytest.param([("fixed", "..")], f'{FIELD}[0].path is invalid: ".." is outside bundle root', id="above"),
        pytest.param([("fixed", "/a")], f'{FIELD}[0].path is invalid: "/a" is outside bundle root', id="absolute"),
        pytest.param(
            [("fixed", "a/../../b")],
            f'{FIELD}[0].path is invalid: "a/../../b" is outside bundle root',
            id="outside in the end",
        ),
        pytest.param(
            [("fixed", ""), ("open", "")],
            f'{FIELD}[1].configmap.name is invalid: configmap "open" is not immutable',
            id="a mutable ConfigMap",
        ),
        pytest.param(
            [("open", "../a"), ("fixed", "")],
            f'[{FIELD}[0].path is invalid: "../a" is outside bundle root, '
            f'{FIELD}[0].configmap.name is invalid: configmap "open" is not immutable]',
            id="two problems, as Kubernetes lists them",
        ),
    ],
)
def test_config_maps(members: list[tuple[str, str | None]], problem: str) -> None:
    maps = [{"configMap": {"name": name}, "path": path} for name, path in members]
    source = BundleSource.load({"type": "configMaps", "configMaps": maps})
    assert source_problem(source, {"open"}) == problem
