"""Schemas of the objects that descriptors name and whose fields are Kubernetes' own: resources, strategies, affinities, and
selectors.

They stand for the schema of the CustomResourceDefinition, which often has no more than `type: object` there. Fields that they do
not have stay as they are in a document. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]


def _text(title: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "title": title, **more}


def _number(title: str, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "title": title, **more}


def _list(title: str, items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "title": title, "items": items}


def _object(title: str = "", required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": fields}
    return schema | ({"title": title} if title else {}) | ({"required": list(required)} if required else {})


def _quantity(title: str) -> dict[str, Any]:
    return {"x-kubernetes-int-or-string": True, "title": title}


def _requirements(*operators: str) -> dict[str, Any]:
    operator = _text("Operator", enum=list(operators))
    item = _object("", ("key", "operator"), key=_text("Key"), operator=operator, values=_list("Values", _text("Value")))
    return _list("Expressions", item)


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_LABEL_SELECTOR = _object(
    "Labels of the pods",
    matchLabels={"type": "object", "title": "Labels", "additionalProperties": {"type": "string"}},
    matchExpressions=_requirements(*_OPERATORS),
)
_NODE_TERM = _object("Nodes", matchExpressions=_requirements(*_OPERATORS, "Gt", "Lt"))
_POD_TERM = _object(
    "Pods",
    ("topologyKey",),
    topologyKey=_text("Topology key", description="A label of nodes, such as kubernetes.io/hostname."),
    labelSelector=_LABEL_SELECTOR,
)
_WEIGHT = _number("Weight", minimum=1, maximum=100)


def _pods(word: str) -> dict[str, Any]:
    preferred = _object("", ("weight", "podAffinityTerm"), weight=_WEIGHT, podAffinityTerm=_POD_TERM)
    return _object(
        word,
        requiredDuringSchedulingIgnoredDuringExecution=_list("Required", _POD_TERM),
        preferredDuringSchedulingIgnoredDuringExecution=_list("Preferred", preferred),
    )


def _cpu_and_memory(title: str) -> dict[str, Any]:
    return _object(title, cpu=_quantity("CPU"), memory=_quantity("Memory"))


SCHEMAS: Final[Mapping[str, Schema]] = {
    "resourceRequirements": _object(requests=_cpu_and_memory("Requests"), limits=_cpu_and_memory("Limits")),
    "updateStrategy": _object(
        type=_text("Strategy", enum=["RollingUpdate", "Recreate"]),
        rollingUpdate=_object(
            "Rolling update", maxSurge=_quantity("At most more"), maxUnavailable=_quantity("At most unavailable")
        ),
    ),
    "nodeAffinity": _object(
        requiredDuringSchedulingIgnoredDuringExecution=_object(
            "Required", ("nodeSelectorTerms",), nodeSelectorTerms=_list("Terms", _NODE_TERM)
        ),
        preferredDuringSchedulingIgnoredDuringExecution=_list(
            "Preferred", _object("", ("weight", "preference"), weight=_WEIGHT, preference=_NODE_TERM)
        ),
    ),
    "podAffinity": _pods("Affinity"),
    "podAntiAffinity": _pods("Anti-affinity"),
    "selector": _LABEL_SELECTOR,
    "endpointList": _list(
        "Endpoints",
        _object(
            "",
            port=_text("Port"),
            scheme=_text("Scheme", enum=["http", "https"]),
            path=_text("Path"),
            interval=_text("Interval", description="Such as 30s."),
        ),
    ),
}
"""By the name of the use, without `ui:`."""
