"""The page of a package as a function of what its catalog says."""

from typing import Any

import pytest

from console.views.description import Description, ProvidedKind
from console.views.fit import Cluster
from console.views.package import (
    NoSuchVersion,
    PackageInput,
    PackageView,
    package_view,
    permission_rows,
    requirements,
)
from olmctl.diff.risks import Risk, RiskGroup
from olmctl.questions.packages import PackageEntry
from olmkit.api.meta import Object

DOCUMENT = {
    "package": "etcd",
    "defaultChannel": "stable",
    "channels": [
        {
            "name": "stable",
            "entries": [
                {"name": "etcd.v1.0.0", "replaces": "", "skips": [], "skipRange": ""},
                {"name": "etcd.v1.1.0", "replaces": "etcd.v1.0.0", "skips": [], "skipRange": ""},
            ],
        },
        {
            "name": "edge",
            "entries": [
                {"name": "etcd.v1.1.0", "replaces": "", "skips": [], "skipRange": ""},
                {"name": "etcd.v2.0.0", "replaces": "", "skips": ["etcd.v1.1.0"], "skipRange": "<2.0.0"},
            ],
        },
    ],
    "bundles": [
        {"name": "etcd.v1.0.0", "version": "1.0.0", "properties": []},
        {"name": "etcd.v1.1.0", "version": "1.1.0", "properties": []},
        {"name": "etcd.v2.0.0", "version": "2.0.0", "properties": [], "problem": "its image is missing"},
    ],
    "deprecations": [{"reference": {"schema": "olm.bundle", "name": "etcd.v1.0.0"}, "message": "too old"}],
}
ENTRY = PackageEntry("etcd", "community", {"spec": {"defaultChannel": "stable", "channels": DOCUMENT["channels"]}}, {})
OPERATOR: Object = {
    "metadata": {"name": "my-etcd", "generation": 1},
    "spec": {"packageName": "etcd"},
    "status": {"installed": {"name": "etcd.v1.0.0", "version": "1.0.0", "catalog": "community", "channel": "stable"}},
}


def _view(**given: Any) -> PackageView:
    return package_view(
        PackageInput(
            **{
                "entry": ENTRY,
                "document": DOCUMENT,
                "described": Description(),
                "operators": (),
                "cluster": Cluster(),
                **given,
            }
        )
    )


def test_kinds_that_no_publisher_describes_are_those_of_the_properties() -> None:
    described = Description(kinds=(ProvidedKind("a.io", "v1", "A", "An A", "", False, ()),))
    values: list[Any] = [
        {"group": "a.io", "version": "v2", "kind": "A"},
        {"group": "a.io", "version": "v1", "kind": "A"},
        {"group": "b.io", "version": "v1beta1", "kind": "B"},
        {"group": "b.io", "version": "v1", "kind": "B"},
        {"group": "b.io", "version": "v1alpha1", "kind": "B"},
        "x",
        {},
    ]
    properties = [*({"type": "olm.gvk", "value": each} for each in values), {"type": "other", "value": values[1]}]
    bundle = {"name": "etcd.v1.1.0", "version": "1.1.0", "properties": properties}

    view = _view(described=described, document={**DOCUMENT, "bundles": [bundle]})
    assert [(each.kind, each.title, each.version, each.other_versions) for each in view.kinds] == [
        ("A", "An A", "v1", ("v2",)),
        ("B", "B", "v1", ("v1beta1", "v1alpha1")),
    ]
    assert next(each.count for each in view.tabs if each.text == "Instance types") == "2"


def test_versions_have_the_day_on_which_they_were_made_and_channels_their_heads() -> None:
    dated = {"name": "etcd.v1.1.0", "version": "1.1.0", "createdOn": "2026-01-31"}
    others = [{"name": f"etcd.v{version}", "version": version} for version in ("1.0.0", "2.0.0")]
    view = _view(document={**DOCUMENT, "bundles": [dated, *others]})

    assert [(row.version, row.created) for row in view.versions] == [
        ("2.0.0", ""),
        ("1.1.0", "2026-01-31"),
        ("1.0.0", ""),
    ]
    assert view.channels == (("stable", " 1.1.0 (default)"), ("edge", " 2.0.0"))


def test_versions_are_newest_first_with_channels_heads_and_edges() -> None:
    rows = _view(operators=[OPERATOR]).versions

    assert [(row.version, row.channels, row.heads, row.upgrades_from) for row in rows] == [
        ("2.0.0", ("edge",), ("edge",), "<2.0.0, skips 1"),
        ("1.1.0", ("stable", "edge"), ("stable",), "etcd.v1.0.0"),
        ("1.0.0", ("stable",), (), ""),
    ]
    assert [row.is_installed for row in rows] == [False, False, True]
    assert [row.deprecation for row in rows] == ["", "", "too old"]
    assert rows[1].install == "/catalog/community/etcd/install?version=1.1.0"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, "1.1.0", id="the head of the default channel"),
        pytest.param({"channel": "edge"}, "2.0.0", id="the head of a channel"),
        pytest.param({"version": "1.0.0"}, "1.0.0", id="the version of the URL"),
        pytest.param({"version": "etcd.v1.0.0"}, "1.0.0", id="the name of a bundle"),
        pytest.param({"document": {}}, "1.1.0", id="without catalogd, the names of the Package object"),
    ],
)
def test_the_version_that_is_shown(given: dict[str, Any], expected: str) -> None:
    assert _view(**given).version.version == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"channel": "beta"}, "package etcd has no channel beta: it has edge, stable", id="an unknown channel"
        ),
        pytest.param(
            {"version": "9.0.0"},
            "package etcd has no version 9.0.0: it has 2.0.0, 1.1.0, 1.0.0",
            id="an unknown version",
        ),
        pytest.param(
            {"channel": "stable", "version": "2.0.0"},
            "channel stable has no version 2.0.0: it is in edge",
            id="another channel has it",
        ),
    ],
)
def test_what_is_not_there_says_what_is(given: dict[str, Any], message: str) -> None:
    with pytest.raises(NoSuchVersion) as error:
        _view(**given)
    assert str(error.value) == message


def test_a_version_that_cannot_be_installed_says_why_and_has_no_button() -> None:
    view = _view(channel="edge")

    assert view.install.reason == "its image is missing"
    assert [(note.kind, note.title, note.text) for note in view.notes] == [
        ("bad", "2.0.0 cannot be installed.", "its image is missing")
    ]


def test_without_permission_the_button_says_so_and_shows_the_command() -> None:
    view = _view(refusal="You may not create operators.")

    assert (view.install.reason, view.install.commands) == ("You may not create operators.", ("olm install etcd",))


def test_requirements_are_compared_with_the_cluster() -> None:
    bundle = {
        "properties": [
            {"type": "olm.gvk.required", "value": {"group": "a.example", "version": "v1", "kind": "A"}},
            {"type": "olm.gvk.required", "value": {"group": "b.example", "version": "v1", "kind": "B"}},
            {"type": "olm.package.required", "value": {"packageName": "base", "versionRange": ">=1.0.0"}},
            {"type": "olm.constraint", "value": {"failureMessage": "needs a GPU"}},
            {"type": "olm.gvk.required", "value": "x"},
        ]
    }
    described = Description(min_kube_version="1.30.0", native_apis=(("apps", "v1", "Deployment"), ("x", "v9", "Y")))
    served = frozenset({("apps", "v1", "Deployment")})
    cluster = Cluster("v1.34.4+k3s1", frozenset({("a.example", "A")}), served, frozenset({"base"}))

    assert [(each.text, each.is_met) for each in requirements(described, bundle, cluster)] == [
        ("Kubernetes 1.30.0 or later", True),
        ("the API Deployment of apps/v1", True),
        ("the API Y of x/v9", False),
        ("the kind A of a.example/v1", True),
        ("the kind B of b.example/v1", False),
        ("the package base >=1.0.0", True),
        ("needs a GPU", None),
    ]
    unknown = list(requirements(described, bundle, Cluster(is_known=False)))
    assert [each.is_met for each in unknown] == [None, None, None, None, None, False, None]


def test_tabs_keep_the_version_and_the_namespace() -> None:
    view = _view(tab="versions", version="1.0.0", ns="team-a")

    assert [each.path for each in view.tabs][:2] == [
        "/catalog/community/etcd?version=1.0.0&ns=team-a",
        "/catalog/community/etcd/versions?version=1.0.0&ns=team-a",
    ]
    assert [each.is_current for each in view.tabs] == [False, True, False, False, False]


def test_permissions_are_sentences_by_risk() -> None:
    groups = [
        RiskGroup("ServiceAccount ns/op", Risk.CONTROL, ("escalate clusterroles",)),
        RiskGroup("ServiceAccount ns/op", Risk.READS, ("get pods in all namespaces", "* nodes in all namespaces")),
    ]

    assert [(row.badge.text, row.text, row.detail) for row in permission_rows(groups)] == [
        ("Control", "ServiceAccount ns/op can take control of the cluster.", "escalate clusterroles"),
        (
            "Reads",
            "ServiceAccount ns/op reads objects in the whole cluster.",
            "get pods in all namespaces; every verb on nodes in all namespaces",
        ),
    ]


def test_the_button_of_the_newest_version_follows_it_and_that_of_a_chosen_one_stays_at_it() -> None:
    assert _view().install.path == "/catalog/community/etcd/install"
    assert _view(version="1.1.0").install.path == "/catalog/community/etcd/install?version=1.1.0"
