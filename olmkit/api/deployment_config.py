"""DeploymentConfig: what a user changes in the Deployments of an operator: the deploymentConfig of OLM v1, the config of a
Subscription. Part of olmkit.api.install_settings; rukpak.render.deployment_config applies it.

The schema refuses what the API server of Kubernetes would refuse in a Deployment, as far as that is short to say. What it lets
through is refused when the Deployment is applied. Pure.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, ModelWrapValidatorHandler, PrivateAttr, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue

from olmkit.api.meta import Model
from olmkit.gocompat.json_depth import MAX_LEVELS, is_deeper


def _text(description: str, **limits: Any) -> JsonSchemaValue:
    return {"type": "string", "description": description, **limits}


def _name(description: str) -> JsonSchemaValue:
    return _text(description, minLength=1)


def _flag(description: str) -> JsonSchemaValue:
    return {"type": "boolean", "description": description}


def _any(description: str) -> JsonSchemaValue:
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "description": description}


def _quantities(description: str) -> JsonSchemaValue:
    quantity = {"x-kubernetes-int-or-string": True}
    return {"type": "object", "additionalProperties": quantity, "description": description}


def _object(required: tuple[str, ...] = (), **properties: JsonSchemaValue) -> JsonSchemaValue:
    schema: JsonSchemaValue = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def _source(kind: str) -> JsonSchemaValue:
    properties = {"name": _name(f"Name of the {kind}."), "optional": _flag(f"Whether the {kind} may be missing.")}
    return {**_object(("name",), **properties), "description": f"The {kind} whose keys become variables."}


_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
_Variable = Annotated[
    dict[str, Any],
    WithJsonSchema(
        _object(
            ("name",),
            name=_name("Name of the variable."),
            value=_text("Its value."),
            valueFrom=_any("Source of its value."),
        )
    ),
]
_Variables = Annotated[
    dict[str, Any],
    WithJsonSchema(
        _object(
            prefix=_text("Text before the name of each variable."),
            configMapRef=_source("ConfigMap"),
            secretRef=_source("Secret"),
        )
    ),
]
_Volume = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            **_object(("name",), name=_name("Name of the volume. Its other fields are those of Kubernetes.")),
            "x-kubernetes-preserve-unknown-fields": True,
        }
    ),
]
_Mount = Annotated[
    dict[str, Any],
    WithJsonSchema(
        _object(
            ("name", "mountPath"),
            name=_name("Name of the volume."),
            mountPath=_name("Path in the container."),
            subPath=_text("Path in the volume."),
            subPathExpr=_text("Path in the volume, with variables of the container."),
            mountPropagation=_text("How mounts are propagated."),
            readOnly=_flag("Whether it is mounted read-only."),
            recursiveReadOnly=_text("Whether mounts within it are read-only too."),
        )
    ),
]
_Toleration = Annotated[
    dict[str, Any],
    WithJsonSchema(
        _object(
            key=_text("Key of the taint; absent: all."),
            operator=_text("How the value is compared."),
            value=_text("Value of the taint."),
            effect=_text("Effect of the taint; absent: all.", enum=_EFFECTS),
            tolerationSeconds={
                "type": "integer",
                "format": "int64",
                "description": "Seconds for which a taint with effect NoExecute is tolerated.",
            },
        )
    ),
]
_Resources = Annotated[
    dict[str, Any],
    WithJsonSchema(
        _object(
            limits=_quantities("The most that a container may use."),
            requests=_quantities("What is reserved for a container."),
            claims={
                "type": "array",
                "items": _object(
                    ("name",),
                    name=_name("Name of a claim of the pod."),
                    request=_text("Name of a request of the claim."),
                ),
                "description": "Claims of resources that a container uses.",
            },
        )
    ),
]
_Affinity = Annotated[
    dict[str, Any],
    WithJsonSchema(
        _object(
            nodeAffinity=_any("Affinity to nodes."),
            podAffinity=_any("Affinity to nodes with other pods."),
            podAntiAffinity=_any("Affinity to nodes without other pods."),
        )
    ),
]


class DeploymentConfig(Model):
    """Changes of the operator's Deployments."""

    env: list[_Variable] | None = Field(
        default=None, description="Environment variables of all containers. One with the same name is replaced."
    )
    env_from: list[_Variables] | None = Field(
        default=None, description="Sources of environment variables of all containers, added to those of the bundle."
    )
    volumes: list[_Volume] | None = Field(
        default=None, description="Volumes of the pods. One with the same name is replaced."
    )
    volume_mounts: list[_Mount] | None = Field(
        default=None, description="Mounts of volumes in all containers. Those of the same volume are replaced."
    )
    tolerations: list[_Toleration] | None = Field(
        default=None, description="Tolerations of the pods, added to those of the bundle."
    )
    resources: _Resources | None = Field(
        default=None, description="Resources of each container, instead of those of the bundle."
    )
    node_selector: dict[str, str] | None = Field(
        default=None, description="Node selector of the pods, instead of that of the bundle."
    )
    affinity: _Affinity | None = Field(
        default=None,
        description=(
            "Affinity of the pods. Each of nodeAffinity, podAffinity and podAntiAffinity replaces that of the bundle; an empty "
            "one removes it, and an empty affinity removes all three."
        ),
    )
    annotations: dict[str, str] | None = Field(
        default=None, description="Annotations of the Deployments and their pods. Those of the bundle are kept."
    )
    _problem: str = PrivateAttr(default="")

    @property
    def problem(self) -> str:
        """Explain why it was not read; "" if it was. Nothing may be installed with one that has a problem."""
        return self._problem

    @model_validator(mode="wrap")
    @classmethod
    def _without_too_deep_values(cls, raw: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not is_deeper(raw, MAX_LEVELS):
            return handler(raw)
        empty = handler({})
        empty._problem = f"config nests deeper than {MAX_LEVELS} levels"
        return empty
