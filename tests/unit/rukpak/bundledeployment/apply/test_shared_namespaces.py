"""What each BundleDeployment applies to a Namespace that others use too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rukpak.bundledeployment.apply.shared_namespaces import namespace_body, namespace_warnings
from rukpak.bundledeployment.cluster.namespace_info import member_label
from rukpak.bundledeployment.rendered_bundle import MissingContent, RenderedBundle, RenderedNamespace
from tests.unit.rukpak.bundledeployment.worlds import UID, installed, namespace

ENFORCE = "pod-security.kubernetes.io/enforce"
VERSION = "pod-security.kubernetes.io/enforce-version"
OURS = member_label(UID)


def test_a_namespace_that_is_not_there_is_made_and_joined() -> None:
    body = namespace_body(RenderedNamespace("n", {"a": "b"}, {"c": "d"}), None, UID)
    assert body["metadata"] == {
        "name": "n",
        "resourceVersion": "1",
        "labels": {"a": "b", OURS: "true"},
        "annotations": {"c": "d"},
    }


def test_one_that_is_there_is_joined_and_not_made_ours() -> None:
    live = namespace("n", "uid-other", created=False)
    metadata = namespace_body(RenderedNamespace("n"), live, UID)["metadata"]
    assert metadata == {"name": "n", "uid": "uid-n", "labels": {OURS: "true"}}


def test_what_others_wrote_stays_theirs() -> None:
    live = replace(namespace("n"), labels={"team": "red", "same": "s"}, annotations={"note": "theirs"})
    wanted = RenderedNamespace("n", {"team": "blue", "same": "s", "new": "n"}, {"note": "ours", "more": "m"})
    metadata = namespace_body(wanted, live, UID)["metadata"]
    assert metadata["labels"] == {"same": "s", "new": "n", OURS: "true"}
    assert metadata["annotations"] == {"more": "m"}


@pytest.mark.parametrize(
    ("ours", "theirs", "applied"),
    [
        pytest.param("privileged", "baseline", "privileged", id="ours permits more: it is applied"),
        pytest.param("baseline", "privileged", None, id="theirs permits more: it stays"),
        pytest.param("baseline", "baseline", "baseline", id="the same is ours too"),
        pytest.param("restricted", None, None, id="a namespace without a level permits everything: it stays so"),
        pytest.param("odd", "privileged", "odd", id="an unknown level permits everything"),
    ],
)
def test_of_pod_security_levels_the_most_permissive_wins(ours: str, theirs: str | None, applied: str | None) -> None:
    live = replace(namespace("n"), labels={ENFORCE: theirs} if theirs else {})
    labels = namespace_body(RenderedNamespace("n", {ENFORCE: ours, VERSION: "v1.30"}), live, UID)["metadata"]["labels"]
    assert labels.get(ENFORCE) == applied
    assert labels.get(VERSION) == ("v1.30" if applied else None)


def test_what_stays_as_others_have_it_is_said() -> None:
    seen = installed()
    assert isinstance(seen.content, RenderedBundle)
    wanted = RenderedNamespace("ship-system", {ENFORCE: "baseline", "team": "blue"}, {"note": "ours"})
    live = replace(namespace(), labels={ENFORCE: "privileged", "team": "red"}, annotations={"note": "theirs"})
    seen = replace(seen, content=replace(seen.content, namespaces=(wanted,)), namespaces={"ship-system": live})
    assert list(namespace_warnings(seen)) == [
        f"Namespace ship-system keeps {ENFORCE}: privileged; the bundle asks for baseline",
        "Namespace ship-system keeps team: red; the bundle asks for blue",
        "Namespace ship-system keeps the value of annotation note that others set",
    ]
    bare = replace(live, labels={}, annotations={})
    assert list(namespace_warnings(replace(seen, namespaces={"ship-system": bare}))) == [
        f"Namespace ship-system keeps no {ENFORCE}; the bundle asks for baseline"
    ]


def test_nothing_is_said_of_a_namespace_that_is_not_there_or_not_known() -> None:
    assert list(namespace_warnings(replace(installed(), namespaces={}))) == []
    assert list(namespace_warnings(replace(installed(), content=MissingContent()))) == []
