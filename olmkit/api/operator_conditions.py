"""OperatorCondition: what an operator and an administrator say about the upgrade of the operator. The kind is that of OLM v0.

rukpak makes one for each installed operator. The operator writes its conditions, in v2 into spec and in v1 into status, and an
administrator writes spec.overrides. Pure.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic.config import JsonDict

from olmkit.api.meta import MAX_MESSAGE_BYTES, Condition, Kind, Model, Resource
from olmkit.api.operator_condition_names import GROUP, KIND_NAME, PLURAL, V1, V2

KIND = Kind(GROUP, V2, KIND_NAME, PLURAL, namespaced=True)

_BY_TYPE: JsonDict = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
_ATOMIC: JsonDict = {"x-kubernetes-list-type": "atomic"}


class OverrideCondition(Model):
    """A condition that takes precedence over that of the operator."""

    type: Annotated[str, Field(max_length=316)] = Field(description="Type of the condition, such as Upgradeable.")
    status: Literal["True", "False", "Unknown"] = Field(
        description="True permits upgrades; each other status holds them."
    )
    reason: Annotated[str, Field(max_length=1024)] = Field(description="Reason of the status, in CamelCase.")
    message: Annotated[str, Field(max_length=MAX_MESSAGE_BYTES)] | None = Field(
        default=None, description="Explanation for users."
    )
    observed_generation: int | None = Field(default=None, ge=0, description="The generation that it was set for.")
    last_transition_time: str | None = Field(
        default=None, description="When the status last changed.", json_schema_extra={"format": "date-time"}
    )


class OperatorConditionSpecV1(Model):
    """The operator's accounts and Deployments, and overrides."""

    service_accounts: list[str] | None = Field(
        default=None,
        description="ServiceAccounts of the operator, which may write its conditions. Written by rukpak.",
        json_schema_extra=_ATOMIC,
    )
    deployments: list[str] | None = Field(
        default=None, description="Deployments of the operator. Written by rukpak.", json_schema_extra=_ATOMIC
    )
    overrides: list[OverrideCondition] | None = Field(
        default=None,
        description="Conditions that take precedence over those of the operator. Written by administrators.",
        json_schema_extra=_BY_TYPE,
    )


class OperatorConditionSpec(OperatorConditionSpecV1):
    """The operator's conditions, accounts and Deployments, and overrides."""

    conditions: list[Condition] | None = Field(
        default=None,
        description="Conditions of the operator. Written by the operator; rukpak copies them to status.conditions.",
        json_schema_extra=_BY_TYPE,
    )


class OperatorConditionStatus(Model):
    """The conditions that count, unless spec.overrides has one of the type."""

    conditions: list[Condition] | None = Field(
        default=None,
        description="Conditions of the operator. A condition of an older generation than the object's is outdated.",
        json_schema_extra=_BY_TYPE,
    )


class OperatorConditionV1(Resource):
    """The statements of an operator and an administrator about the upgrade of the operator."""

    spec: OperatorConditionSpecV1 = Field(default_factory=OperatorConditionSpecV1)
    status: OperatorConditionStatus = Field(default_factory=OperatorConditionStatus)


class OperatorCondition(Resource):
    """The statements of an operator and an administrator about the upgrade of the operator."""

    spec: OperatorConditionSpec = Field(default_factory=OperatorConditionSpec)
    status: OperatorConditionStatus = Field(default_factory=OperatorConditionStatus)


MODELS: dict[str, type[Resource]] = {V2: OperatorCondition, V1: OperatorConditionV1}
"""Version -> its model, the preferred version first. In v1 there is no spec.conditions: the operator writes status.conditions."""
