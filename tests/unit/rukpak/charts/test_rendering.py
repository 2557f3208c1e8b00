"""The output of helm as objects, and what differs between two renderings."""

from __future__ import annotations

from typing import Any

import pytest

from rukpak.charts.rendering import Rendering, compare, packed, read_output, replaced, shown, unpacked, value_at
from rukpak.format.bundle import PlainBundle
from rukpak.format.errors import BadBundle
from rukpak.format.objects import ObjectKey


def secret(name: str = "s", **data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


def test_documents_are_read_by_their_templates() -> None:
    output = (
        b"---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
        b"---\n# Source: web/templates/b.yaml\n# nothing\n"
        b'---\n# Source: web/templates/c.yaml\n{"apiVersion": "v1", "kind": "List", "items": ['
        b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}]}\n'
    )
    assert [body["metadata"]["name"] for body in read_output(output).objects] == ["a", "c"]
    assert read_output(b"\n").objects == ()


def hook(events: str, name: str = "job") -> bytes:
    return (
        f"---\n# Source: c/templates/{name}.yaml\napiVersion: batch/v1\nkind: Job\n"
        f"metadata: {{name: {name}, annotations: {{helm.sh/hook: '{events}'}}}}\n"
    ).encode()


def test_hooks_for_tests_are_left_out_and_others_are_refused_by_name() -> None:
    assert read_output(hook("test") + hook("test-success", "old")).objects == ()
    with pytest.raises(BadBundle) as error:
        read_output(hook("Post-Install, pre-upgrade") + hook("test,pre-delete", "other"))
    assert "Job.batch job (post-install, pre-upgrade), Job.batch other (pre-delete)" in error.value.message


def test_errors_name_the_template() -> None:
    with pytest.raises(BadBundle) as error:
        read_output(b"---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\n")
    assert error.value.message == 'error parsing objects in "web/templates/a.yaml": ConfigMap has no metadata'


def test_what_differs_each_time_is_found_and_is_no_part_of_the_digest() -> None:
    first = compare(PlainBundle((secret(a="x", b="y"),)), PlainBundle((secret(a="z", b="y"),)))
    second = compare(PlainBundle((secret(a="z", b="y"),)), PlainBundle((secret(a="x", b="y"),)))
    assert first.changing == {ObjectKey("", "Secret", "", "s"): (("data", "a"),)}
    assert first.digest() == second.digest()
    other = compare(PlainBundle((secret(a="x", b="!"),)), PlainBundle((secret(a="z", b="!"),)))
    assert other.digest() != first.digest()
    assert unpacked(packed(first)) == first


@pytest.mark.parametrize(
    ("one", "two", "places"),
    [
        pytest.param({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, ["a[1].b"], id="within a list"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, ["a"], id="a list of another length"),
        pytest.param({"a": {"b": 1}}, {"a": {"c": 1}}, ["a"], id="other keys"),
        pytest.param({"a": 1, "b": "x"}, {"a": 2, "b": "y"}, ["a", "b"], id="two values"),
    ],
)
def test_differences_are_as_small_as_they_can_be(one: Any, two: Any, places: list[str]) -> None:
    found = compare(PlainBundle(({**secret(), "spec": one},)), PlainBundle(({**secret(), "spec": two},))).changing
    assert [shown(path).removeprefix("spec.") for paths in found.values() for path in paths] == places


def test_names_that_differ_each_time_are_refused() -> None:
    with pytest.raises(BadBundle) as error:
        compare(PlainBundle((secret("a"),)), PlainBundle((secret("b"),)))
    assert "gives objects other names each time it is rendered, so that they cannot be kept: Secret a, Secret b" in str(
        error.value
    )


def test_values_are_replaced_where_they_are() -> None:
    value = {"a": [{"b": 1}, 2]}
    assert replaced(value, ("a", 0, "b"), 3) == {"a": [{"b": 3}, 2]}
    assert value_at(value, ("a", 0, "b")) == 1
    for absent in (("x",), ("a", 5), ("a", "b")):
        assert replaced(value, absent, 3) == value
        assert value_at(value, absent) is None


def test_what_is_no_rendering_is_refused() -> None:
    with pytest.raises(ValueError, match="Error"):
        unpacked(b"no rendering")
    assert Rendering(()).bundle.objects == ()


def test_a_rendering_with_too_many_values_is_refused() -> None:
    """The controller reads it as a whole: a hundred bytes of memory, or more, for each value."""
    with pytest.raises(BadBundle) as error:
        packed(Rendering(({**secret(), "data": {"a": [[]] * 500_000}},)))
    assert "the rendering of the chart has about 1,000,0" in error.value.message
    assert "at most 500,000 are allowed" in error.value.message
