"""The questions of `olm bundle init`, and what becomes of the answers in the base (sdk 2.4). Pure.

They are those of operator-sdk. The texts that operator-sdk writes where nobody has answered are no answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from olmctl.project.names import display_name

TODO: Final = " description. TODO."
PLACEHOLDER_PROVIDER: Final = "Provider Name"
PLACEHOLDER_URL: Final = "https://your.domain"
PLACEHOLDER_EMAIL: Final = "your@email.com"
_QUOTES: Final = "`'\""

Spec = dict[str, Any]


class BadAnswer(ValueError):
    """An answer cannot be used; the message says what is wrong with it."""


@dataclass(frozen=True)
class Question:
    """One question."""

    name: str
    """The parameter of the option that answers it."""
    text: str
    is_answered: Callable[[Mapping[str, Any]], bool]
    """Report whether the spec of a base has an answer."""
    apply: Callable[[Spec, str], None]
    """Write an answer into the spec. Raises BadAnswer."""
    is_required: bool = True
    default: Callable[[str], str] = lambda package: ""
    """The answer for a package if the person just confirms; "" if there is none."""

    @property
    def option(self) -> str:
        """The option that answers it."""
        return f"--{self.name.replace('_', '-')}"

    def prompt(self, package: str) -> str:
        """The question as it is asked."""
        default = self.default(package)
        return (
            f"{self.text} ({'required' if self.is_required else 'optional'}):{f' [{default}]' if default else ''}\n> "
        )


def trimmed(answer: str) -> str:
    """An answer without the blanks and quotes around it."""
    return answer.strip().strip(_QUOTES)


def _provider(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    found = spec.get("provider")
    return found if isinstance(found, dict) else {}


def _has_provider(spec: Mapping[str, Any]) -> bool:
    return _provider(spec).get("name") not in (None, "", PLACEHOLDER_PROVIDER)


def _has_url(spec: Mapping[str, Any]) -> bool:
    """A provider without a page has none: it is not asked for again."""
    return _has_provider(spec) and _provider(spec).get("url") != PLACEHOLDER_URL


def _has_description(spec: Mapping[str, Any]) -> bool:
    text = spec.get("description")
    return isinstance(text, str) and bool(text.strip()) and not text.endswith(TODO)


def _has_maintainers(spec: Mapping[str, Any]) -> bool:
    found = spec.get("maintainers")
    return isinstance(found, list) and any(
        isinstance(each, dict) and each.get("email") not in (None, "", PLACEHOLDER_EMAIL) for each in found
    )


def _set_text(field: str) -> Callable[[Spec, str], None]:
    def apply(spec: Spec, answer: str) -> None:
        spec[field] = answer

    return apply


def _set_provider(spec: Spec, answer: str) -> None:
    url = _provider(spec).get("url")
    spec["provider"] = {"name": answer, **({"url": url} if url and url != PLACEHOLDER_URL else {})}


def _set_url(spec: Spec, answer: str) -> None:
    if answer and not answer.startswith(("https://", "http://")):
        raise BadAnswer(f"{answer} is no URL such as https://example.com")
    name = _provider(spec).get("name")
    spec["provider"] = {**({"name": name} if name else {}), **({"url": answer} if answer else {})}


def _list(answer: str) -> list[str]:
    found = [each for part in answer.split(",") if (each := part.strip())]
    if not found:
        raise BadAnswer("a comma-separated list is needed")
    return found


def _set_keywords(spec: Spec, answer: str) -> None:
    spec["keywords"] = _list(answer)


def _set_maintainers(spec: Spec, answer: str) -> None:
    maintainers = []
    for each in _list(answer):
        name, colon, email = (part.strip() for part in each.partition(":"))
        if not (name and colon and "@" in email.strip("@")):
            raise BadAnswer(f"{each} is no maintainer: write name:email, such as Ada:ada@example.com")
        maintainers.append({"email": email, "name": name})
    spec["maintainers"] = maintainers


QUESTIONS: Final = (
    Question(
        "display_name",
        "Display name for the operator",
        lambda spec: bool(spec.get("displayName")),
        _set_text("displayName"),
        default=display_name,
    ),
    Question("description", "Description for the operator", _has_description, _set_text("description")),
    Question("provider", "Provider's name for the operator", _has_provider, _set_provider),
    Question("provider_url", "Any relevant URL for the provider name", _has_url, _set_url, is_required=False),
    Question(
        "keywords",
        "Comma-separated list of keywords for your operator",
        lambda spec: bool(spec.get("keywords")),
        _set_keywords,
        default=lambda package: package,
    ),
    Question(
        "maintainers",
        "Comma-separated list of maintainers and their emails (e.g. 'name1:email1, name2:email2')",
        _has_maintainers,
        _set_maintainers,
    ),
)
"""The questions, in the order in which they are asked."""
