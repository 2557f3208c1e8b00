"""The rules of the check of CustomResourceDefinition upgrades, and the annotation that opts out. Without models of the API, so
that what only knows the rules starts fast.

The rules are carried out by olmkit.crd_safety. Pure.
"""

from __future__ import annotations

from enum import StrEnum

from olmkit.api.described_enum import DescribedEnum

OPT_OUT_ANNOTATION = "core.rukpak.io/safe-crd-upgrade-validation"
"""The annotation of a CustomResourceDefinition in a bundle that, if it is "false", is applied without these checks."""


class Refuses(StrEnum):
    """The case in which a broken rule prevents the installation of a bundle that waits."""

    ALWAYS = "Always"
    IF_USED = "IfUsed"
    """If it concerns a custom resource on the cluster."""


class CrdCheckResult(StrEnum):
    """The result of comparing the CustomResourceDefinitions of a bundle that waits with those on the cluster."""

    NOT_REFUSED = "NotRefused"
    IF_USED = "IfUsed"
    """Custom resources on the cluster decide."""
    REFUSED = "Refused"


class CrdUpgradeRule(DescribedEnum):
    """The rules by which a CustomResourceDefinition on the cluster is compared with the one that is to replace it."""

    SCOPE_CHANGED = "scope-changed", "the scope changes between Namespaced and Cluster"
    KIND_CHANGED = "kind-changed", "spec.names.kind changes"
    STORED_VERSION_REMOVED = "stored-version-removed", "a version of status.storedVersions is removed"
    CONVERSION_REMOVED = (
        "conversion-removed",
        "the conversion webhook is removed, and several versions are served without it",
    )
    FIELD_REMOVED = "field-removed", "a field is removed, so its values are dropped"
    TYPE_CHANGED = "type-changed", "the type of a field changes"
    NULLABLE_REMOVED = "nullable-removed", "a field does not accept null any more"
    REQUIRED_ADDED = "required-added", "a field without a default becomes required"
    DEFAULT_ADDED = "default-added", "an existing field gets a default"
    DEFAULT_CHANGED = "default-changed", "the default of a field changes"
    DEFAULT_REMOVED = "default-removed", "the default of a field is removed"
    ENUM_ADDED = "enum-added", "the values of a field are restricted to a list"
    ENUM_VALUE_REMOVED = "enum-value-removed", "a value is removed from the list of permitted ones"
    MINIMUM_TIGHTENED = "minimum-tightened", "the minimum of a number is raised or added"
    MAXIMUM_TIGHTENED = "maximum-tightened", "the maximum of a number is lowered or added"
    MULTIPLE_OF_CHANGED = "multiple-of-changed", "multipleOf is changed or added"
    MIN_LENGTH_TIGHTENED = "min-length-tightened", "the minimum length of a string is raised or added"
    MAX_LENGTH_TIGHTENED = "max-length-tightened", "the maximum length of a string is lowered or added"
    PATTERN_CHANGED = "pattern-changed", "the pattern of a string is changed or added"
    FORMAT_CHANGED = "format-changed", "the format of a value is changed or added"
    MIN_ITEMS_TIGHTENED = "min-items-tightened", "the minimum number of items is raised or added"
    MAX_ITEMS_TIGHTENED = "max-items-tightened", "the maximum number of items is lowered or added"
    MIN_PROPERTIES_TIGHTENED = "min-properties-tightened", "the minimum number of properties is raised or added"
    MAX_PROPERTIES_TIGHTENED = "max-properties-tightened", "the maximum number of properties is lowered or added"
    UNKNOWN_FIELDS_DROPPED = (
        "unknown-fields-dropped",
        "x-kubernetes-preserve-unknown-fields is removed, or a field below it gets a schema, so fields that the schema does not"
        " name are dropped",
    )
    LIST_TYPE_CHANGED = "list-type-changed", "the keys or the merging of a list or map change"
    VALIDATION_RULE_ADDED = "validation-rule-added", "a rule of x-kubernetes-validations is added or changed"
    UNHANDLED_CHANGE = "unhandled-change", "any other difference, such as one in anyOf, that no rule understands"
    EXISTING_OBJECT_INVALID = (
        "existing-object-invalid",
        "a custom resource on the cluster is not valid by the new schema",
    )
    EXISTING_OBJECT_LOSES_DATA = (
        "existing-object-loses-data",
        "a custom resource on the cluster has a value in a field that the new schema drops",
    )
