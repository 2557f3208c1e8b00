"""The annotation that names which kinds of objects there may be."""

import pytest

from rukpak.bundledeployment.cluster.inventory import GroupKind, format_annotation, parse_annotation


@pytest.mark.parametrize(
    ("kinds", "annotation"),
    [
        pytest.param(set(), "", id="nothing"),
        pytest.param({("", "Secret")}, "Secret", id="a core kind has no dot"),
        pytest.param(
            {("rbac.authorization.k8s.io", "Role"), ("", "Secret"), ("apps", "Deployment")},
            "Deployment.apps,Role.rbac.authorization.k8s.io,Secret",
            id="sorted",
        ),
    ],
)
def test_the_annotation_and_the_kinds_are_converted_both_ways(kinds: set[GroupKind], annotation: str) -> None:
    assert format_annotation(kinds) == annotation
    assert parse_annotation(annotation) == kinds


def test_what_a_person_wrote_is_read_with_spaces_and_gaps() -> None:
    assert parse_annotation(" Secret , ,Deployment.apps,") == {("", "Secret"), ("apps", "Deployment")}
