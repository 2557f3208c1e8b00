"""What a base answers, and what becomes of answers."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.project.csv import new_base
from olmctl.project.questions import QUESTIONS, BadAnswer, trimmed

BY_NAME = {each.name: each for each in QUESTIONS}
PLACEHOLDERS = new_base("tea-operator")["spec"]


@pytest.mark.parametrize(
    ("spec", "open_questions"),
    [
        pytest.param({}, [*BY_NAME], id="an empty base answers nothing"),
        pytest.param(
            PLACEHOLDERS,
            ["description", "provider", "provider_url", "maintainers"],
            id="the texts of operator-sdk are no answers",
        ),
        pytest.param(
            {
                **PLACEHOLDERS,
                "description": "Tea.",
                "provider": {"name": "Ada"},
                "maintainers": [{"name": "Ada", "email": "ada@example.com"}],
            },
            [],
            id="a provider without a page is an answer",
        ),
    ],
)
def test_what_is_asked(spec: dict[str, Any], open_questions: list[str]) -> None:
    assert [each.name for each in QUESTIONS if not each.is_answered(spec)] == open_questions


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        pytest.param("display_name", "Tea", {"displayName": "Tea"}, id="a text"),
        pytest.param("provider", "Ada", {"provider": {"name": "Ada"}}, id="a provider"),
        pytest.param("provider_url", "https://a", {"provider": {"url": "https://a"}}, id="its page"),
        pytest.param("provider_url", "", {"provider": {}}, id="no page"),
        pytest.param("keywords", "a, b ,", {"keywords": ["a", "b"]}, id="a list"),
        pytest.param(
            "maintainers",
            "Ada : ada@a, Bob:b@b",
            {"maintainers": [{"name": "Ada", "email": "ada@a"}, {"name": "Bob", "email": "b@b"}]},
            id="maintainers",
        ),
    ],
)
def test_an_answer_becomes_a_field(name: str, answer: str, expected: dict[str, Any]) -> None:
    spec: dict[str, Any] = {}
    BY_NAME[name].apply(spec, answer)
    assert spec == expected
    assert not answer or name == "provider_url" or BY_NAME[name].is_answered(spec)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        pytest.param("maintainers", "someone AT example.com", id="a maintainer without a colon"),
        pytest.param("maintainers", "Ada:", id="no address"),
        pytest.param("maintainers", "Ada:ada", id="no address with @"),
        pytest.param("keywords", " , ", id="an empty list"),
        pytest.param("provider_url", "example.com", id="no URL"),
    ],
)
def test_an_answer_that_cannot_be_used(name: str, answer: str) -> None:
    with pytest.raises(BadAnswer):
        BY_NAME[name].apply({}, answer)


def test_a_question_shows_its_default() -> None:
    assert [each.prompt("tea-operator") for each in QUESTIONS if each.default("tea-operator")] == [
        "Display name for the operator (required): [Tea Operator]\n> ",
        "Comma-separated list of keywords for your operator (required): [tea-operator]\n> ",
    ]
    assert BY_NAME["provider_url"].prompt("p") == "Any relevant URL for the provider name (optional):\n> "


def test_quotes_around_an_answer_do_not_count() -> None:
    assert trimmed(" 'Tea'\n") == "Tea"
