"""What a page shows of an instance: by the descriptors of its status and spec, and by its conditions."""

from __future__ import annotations

from typing import Any

import pytest

from console.forms.descriptors import PREFIX
from console.views.instance_facts import conditions_of, facts_of, own_facts, safe_link, state_of
from console.views.instances import Fact

UI = f"{PREFIX}com.tectonic.ui:"
Object = dict[str, Any]


def facts(status: Object, *descriptors: tuple[str, str], revealed: str = "") -> tuple[Fact, ...]:
    listed = [
        {"path": path, "displayName": path.upper(), "x-descriptors": [use] * bool(use)} for path, use in descriptors
    ]
    return facts_of({"status": status}, {"statusDescriptors": listed}, revealed)


FORMS = [
    pytest.param("https://example.com/x", f"{PREFIX}org.w3:link", ("link", "https://example.com/x"), id="a link"),
    pytest.param(
        "javascript:alert(1)", f"{PREFIX}org.w3:link", ("text", "javascript:alert(1)"), id="no link of the web"
    ),
    pytest.param("//example.com", f"{PREFIX}org.w3:link", ("text", "//example.com"), id="a link without a scheme"),
    pytest.param(
        "https://a@example.com",
        f"{PREFIX}org.w3:link",
        ("text", "https://a@example.com"),
        id="a link with a user",
    ),
    pytest.param("Running", f"{PREFIX}io.kubernetes.phase", ("badge", "Running"), id="a phase"),
    pytest.param("because", f"{PREFIX}io.kubernetes.phase:reason", ("text", "because"), id="the reason of a phase"),
    pytest.param("s3", f"{PREFIX}io.kubernetes:Secret", ("object", "s3"), id="another object"),
    pytest.param(3, f"{UI}podCount", ("text", "3"), id="a count"),
    pytest.param(True, "", ("text", "true"), id="no use"),
    pytest.param({"a": [1]}, f"{UI}text", ("yaml", "a:\n- 1\n"), id="an object"),
    pytest.param("<b>x</b>\u202e", f"{UI}text", ("text", "<b>x</b>\ufffd"), id="a text with marks"),
]


@pytest.mark.parametrize(("value", "use", "expected"), FORMS)
def test_a_value_is_shown_as_its_descriptor_says(value: Any, use: str, expected: tuple[str, str]) -> None:
    (found,) = facts({"x": value}, ("x", use))
    assert (found.form, found.text, found.title) == (*expected, "X")


def test_pods_are_counted_by_state() -> None:
    (found,) = facts({"pods": {"Ready": ["a", "b"], "Failed": [], "Pending": ["c"]}}, ("pods", f"{UI}podStatuses"))
    assert (found.form, found.rows) == ("pods", (("Ready", "2", "a, b"), ("Pending", "1", "c")))


def test_a_password_is_shown_only_where_it_is_asked_for() -> None:
    uses = (("a", f"{UI}password"), ("b", f"{UI}password"))
    assert [each.text for each in facts({"a": "hunter1", "b": "hunter2"}, *uses)] == ["", ""]
    assert [each.text for each in facts({"a": "hunter1", "b": "hunter2"}, *uses, revealed="status.b")] == [
        "",
        "hunter2",
    ]


def test_hidden_fields_and_fields_without_a_value_are_left_out() -> None:
    assert facts({"a": 1, "c": None}, ("a", f"{UI}hidden"), ("b", ""), ("c", "")) == ()


def test_a_path_leads_through_lists() -> None:
    status = {"nodes": [{"name": "a"}, {"name": "b"}]}
    assert [each.text for each in facts(status, ("nodes[1].name", ""), ("nodes.name", ""))] == ["b", "a, b"]


def test_actions_are_text() -> None:
    owned = {"actionDescriptors": [{"path": "restart", "description": "Restarts it"}]}
    assert facts_of({}, owned) == (Fact("Restart", "Restarts it", "text", "restart"),)


def test_an_instance_without_descriptors_shows_its_columns_its_age_and_its_labels() -> None:
    metadata = {"creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"b": "2", "a": "1"}}
    found = own_facts({"metadata": metadata}, {"State": "ready", "Endpoint": ""})
    assert [(each.title, each.form, each.text) for each in found] == [
        ("State", "text", "ready"),
        ("Created", "age", "2026-01-01T00:00:00Z"),
        ("Labels", "text", "a=1, b=2"),
    ]
    assert own_facts({}, {}) == ()


STATES = [
    pytest.param({"conditions": [{"type": "Ready", "status": "True"}]}, ("ok", "Ready"), id="ready"),
    pytest.param({"conditions": [{"type": "Ready", "status": "False"}]}, ("bad", "Not ready"), id="not ready"),
    pytest.param(
        {"conditions": [{"type": "Available", "status": "Unknown"}]}, ("info", "Available: unknown"), id="unknown"
    ),
    pytest.param({"phase": "Failed"}, ("bad", "Failed"), id="a phase"),
    pytest.param({"state": "Rebalancing"}, ("info", "Rebalancing"), id="a state"),
    pytest.param({"conditions": "text", "phase": 7}, ("", ""), id="a status of another form"),
]


@pytest.mark.parametrize(("status", "expected"), STATES)
def test_the_state_of_an_instance(status: Object, expected: tuple[str, str]) -> None:
    assert state_of({"status": status}) == expected
    assert state_of({"metadata": {"deletionTimestamp": "x"}, "status": status}) == ("warn", "Terminating")


def test_conditions_of_any_form() -> None:
    assert conditions_of({"status": {"conditions": [{"type": "A"}, {"type": 1}]}}) == (
        ("A", "", "", "", ""),
        ("", "", "", "", ""),
    )


@pytest.mark.parametrize(
    "text", ["ftp://x", "https://", "https://x y", "http://[", "data:text/html,x", " https://x", "https://a\\b"]
)
def test_what_is_no_safe_link(text: str) -> None:
    assert safe_link(text) == ""
