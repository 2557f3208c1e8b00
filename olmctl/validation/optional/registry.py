"""The optional validators in upstream's order, and those that a label selector selects. Runs none of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from olmctl.validation.finding import Finding
from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.annotations import capabilities, categories
from olmctl.validation.optional.community import community
from olmctl.validation.optional.csv_findings import Values
from olmctl.validation.optional.good_practices import good_practices
from olmctl.validation.optional.hub import operatorhub, operatorhubv2
from olmctl.validation.optional.multiarch import multiarch
from olmctl.validation.optional.removed_apis import alpha_deprecated_apis
from olmkit.gocompat.text import quoted

_IN_SUITE: Final = {"suite": "operatorframework"}
_EQUAL = re.compile(r"\s*([^\s=!,()]+)\s*(==|=|!=)\s*([^\s=!,()]*)\s*")
_IN = re.compile(r"\s*([^\s=!,()]+)\s+(in|notin)\s*\(([^()]*)\)\s*")
_EXISTS = re.compile(r"\s*(!?)\s*([^\s=!,()]+)\s*")
_SEPARATOR = re.compile(r",(?![^(]*\))")
_MAX_SELECTOR: Final = 1000


class BadSelector(ValueError):
    """The selector cannot be read, or selects no validator."""


@dataclass(frozen=True)
class Optional:
    """An optional validator. `run` gets the values of --optional-values."""

    name: str
    description: str
    run: Callable[[LoadedBundle, Values], Iterable[Finding]]
    suite: Mapping[str, str]

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels by which it is selected."""
        return {"name": self.name, **self.suite}


VALIDATORS: Final = (
    Optional("operatorhubv2", "Metadata that operatorhub.io requires.", operatorhubv2, _IN_SUITE),
    Optional("capabilities", "The capability level of the annotation.", capabilities, _IN_SUITE),
    Optional("categories", "The categories of the annotation.", categories, _IN_SUITE),
    Optional("operatorhub", "Deprecated: operatorhubv2, capabilities and categories together.", operatorhub, {}),
    Optional("community", "APIs that OpenShift 4.9 removed, and its versions that are offered.", community, {}),
    Optional(
        "alpha-deprecated-apis", "APIs that Kubernetes 1.22, 1.25 or 1.26 removed.", alpha_deprecated_apis, _IN_SUITE
    ),
    Optional("good-practices", "Names, descriptions, requested resources and permissions.", good_practices, _IN_SUITE),
    Optional("multiarch", "The platforms of the images, labels and node affinity.", multiarch, {}),
)


@dataclass(frozen=True)
class _Requirement:
    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether these labels fulfil the requirement."""
        match self.operator:
            case "exists":
                return self.key in labels
            case "!":
                return self.key not in labels
            case "=" | "in":
                return labels.get(self.key) in self.values
        return labels.get(self.key) not in self.values

    def __str__(self) -> str:
        """The requirement as Kubernetes prints it."""
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
        return f"{self.key}{self.operator}{self.values[0]}"


def selected(selector: str) -> tuple[Optional, ...]:
    """The validators that a label selector selects; none for an empty one. Raises BadSelector if it selects none."""
    if not selector.strip():
        return ()
    requirements = _requirements(selector)
    found = tuple(each for each in VALIDATORS if all(one.matches(each.labels) for one in requirements))
    if not found:
        shown = ",".join(map(str, sorted(requirements, key=lambda one: one.key)))
        raise BadSelector(f"selector {quoted(shown)} does not match any validator labels")
    return found


@cache
def _requirements(selector: str) -> tuple[_Requirement, ...]:
    if len(selector) > _MAX_SELECTOR:
        raise BadSelector(f"a selector has at most {_MAX_SELECTOR} characters")
    return tuple(map(_requirement, _SEPARATOR.split(selector)))


def _requirement(text: str) -> _Requirement:
    if found := _EQUAL.fullmatch(text):
        return _Requirement(found[1], "!=" if found[2] == "!=" else "=", (found[3],))
    if found := _IN.fullmatch(text):
        return _Requirement(found[1], found[2], tuple(each.strip() for each in found[3].split(",")))
    if found := _EXISTS.fullmatch(text):
        return _Requirement(found[2], found[1] or "exists")
    raise BadSelector(f"unable to parse requirement: {quoted(text.strip())} is none, such as name=good-practices")
