"""LabelSelector: which objects a spec selects by their labels, as in metav1. Pure.

Part of olmkit.api.operators; evaluated by operator_controller for the labels of Catalogs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field
from pydantic.config import JsonDict

from olmkit.api.meta import Model

MAX_REQUIREMENTS = 64
"""Entries of matchLabels and of matchExpressions, and values of one expression: they bound the cost of the rules below."""
MAX_KEY_LENGTH = 317
"""A prefix of 253 characters, a slash, and a name of 63."""
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
KEY_PATTERN = rf"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?{_NAME}$"
VALUE_PATTERN = rf"^({_NAME})?$"
_KEYS_RULE: JsonDict = {
    "rule": f"self.all(key, size(key) <= {MAX_KEY_LENGTH} && key.matches(r'{KEY_PATTERN}'))",
    "message": "each key must be the key of a label, such as team or example.com/team",
}
_VALUES_RULE: JsonDict = {
    "rule": "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 "
    ": !has(self.values) || size(self.values) == 0",
    "message": "values must be set for the operators In and NotIn, and must not be set for Exists and DoesNotExist",
}

LabelValue = Annotated[str, Field(max_length=63, pattern=VALUE_PATTERN)]


class LabelSelectorRequirement(Model):
    """One expression of a label selector."""

    key: Annotated[str, Field(max_length=MAX_KEY_LENGTH, pattern=KEY_PATTERN)] = Field(description="Key of the label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(
        description="How the label is compared with the values. NotIn and DoesNotExist select objects without the label too."
    )
    values: list[LabelValue] | None = Field(
        default=None,
        json_schema_extra={"maxItems": MAX_REQUIREMENTS},
        description="Values for the operators In and NotIn.",
    )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether an object with these labels fulfils the expression."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in (self.values or ())
            case "NotIn":
                return value is None or value not in (self.values or ())
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None


class LabelSelector(Model):
    """Selects objects by their labels: each entry of both fields has to match. An empty selector selects every object."""

    match_labels: dict[str, LabelValue] | None = Field(
        default=None,
        json_schema_extra={"maxProperties": MAX_REQUIREMENTS, "x-kubernetes-validations": [_KEYS_RULE]},
        description="Labels with the value that they must have.",
    )
    match_expressions: (
        list[Annotated[LabelSelectorRequirement, Field(json_schema_extra={"x-kubernetes-validations": [_VALUES_RULE]})]]
        | None
    ) = Field(default=None, json_schema_extra={"maxItems": MAX_REQUIREMENTS}, description="Expressions on labels.")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether it selects an object with these labels."""
        return all(labels.get(key) == value for key, value in (self.match_labels or {}).items()) and all(
            one.matches(labels) for one in self.match_expressions or ()
        )
