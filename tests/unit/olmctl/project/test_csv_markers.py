"""Markers of operator-sdk in comments."""

from __future__ import annotations

import pytest

from olmctl.project.csv_markers import PREFIX, BadMarker, CsvMarker, is_csv_marker, read_marker
from olmctl.project.go_types import Marker

POD_COUNT = "urn:alm:descriptor:com.tectonic.ui:podCount"


def read(text: str) -> CsvMarker:
    return read_marker(Marker(f"{PREFIX}:{text}", 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('displayName="A, \\"b\\""', CsvMarker(display_name='A, "b"'), id="text in quotes"),
        pytest.param("displayName=`a\\b`", CsvMarker(display_name="a\\b"), id="text in backquotes"),
        pytest.param("displayName=A lamp,order=3", CsvMarker(display_name="A lamp", order=3), id="bare text"),
        pytest.param("type=spec", CsvMarker("spec"), id="a field of the spec"),
        pytest.param(
            f'type=status , xDescriptors="{POD_COUNT}" , order=-1',
            CsvMarker("status", order=-1, x_descriptors=(POD_COUNT,)),
            id="one descriptor",
        ),
        pytest.param(
            f'type=spec,xDescriptors={{"{POD_COUNT}", b}}',
            CsvMarker("spec", x_descriptors=(POD_COUNT, "b")),
            id="a list",
        ),
        pytest.param(
            "type=spec,xDescriptors=a:b;c", CsvMarker("spec", x_descriptors=("a:b", "c")), id="with semicolons"
        ),
        pytest.param(
            'resources={{Deployment,v1,"a-name"},{Service,v1},}',
            CsvMarker(
                resources=(
                    {"kind": "Deployment", "version": "v1", "name": "a-name"},
                    {"kind": "Service", "version": "v1", "name": ""},
                )
            ),
            id="resources",
        ),
        pytest.param("", CsvMarker(), id="nothing"),
    ],
)
def test_what_a_marker_says(text: str, expected: CsvMarker) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title=a", "the argument title, which is none of"),
        ("type=metadata", "the type 'metadata', which is neither spec nor status"),
        ("order=first", "the order 'first', which is no number"),
        ("order=1,order=2", "has order twice"),
        ("displayName={a,b}", "a list as displayName"),
        ('displayName="a', "a text without an end"),
        ("resources=Deployment", "resources without braces"),
        ("resources={{Deployment}}", "no kind, version and perhaps name"),
        ("resources={{{{{a}}}}}", "lists in lists"),
        ("xDescriptors={a", "a list without an end"),
        ("xDescriptors={{a}}", "lists in xDescriptors"),
        ("=a", "where an argument such as displayName="),
        ('displayName="a" b', "where a comma has to be"),
        ("x" * 20_000, "more than 10,000 characters"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, words: str) -> None:
    with pytest.raises(BadMarker) as caught:
        read(text)
    assert words in str(caught.value)
    assert str(caught.value).startswith("has ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PREFIX, True),
        (f"{PREFIX}:order=1", True),
        (f"{PREFIX}s:order=1", False),
        ("kubebuilder:object:root=true", False),
    ],
)
def test_other_markers_are_not_read(text: str, expected: bool) -> None:
    assert is_csv_marker(Marker(text, 1)) is expected
