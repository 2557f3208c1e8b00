"""Descriptors of a ClusterServiceVersion: how its publisher wants the fields of a kind to be shown. Pure.

The text is the publisher's, so it may be anything: what has another form is passed over, and a descriptor whose path the schema
does not have is dropped. The schema decides what a field may be; a descriptor only chooses its control, title and place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from olmctl.terminal import clean

Schema = Mapping[str, Any]
Trail = tuple[str, ...]
"""The names of fields from spec or status to a field; the items of lists are "[]"."""

ITEM: Final = "[]"
PREFIX: Final = "urn:alm:descriptor:"
_OPENSHIFT: Final = "com.tectonic.ui:"
MAX_DESCRIPTORS: Final = 1_000
MAX_USES: Final = 60
"""x-descriptors of one descriptor that are read."""
MAX_TEXT: Final = 1_000
_MAX_STEPS: Final = 10_000
"""Parts of a schema that are looked through for one path."""
_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
BUILT_IN_OBJECTS: Final = frozenset({
    "resourceRequirements", "updateStrategy", "nodeAffinity", "podAffinity", "podAntiAffinity", "selector", "endpointList",
})  # fmt: skip
"""Uses of objects whose fields are known."""


@dataclass(frozen=True)
class Dependency:
    """The other field, as a path below spec, and the value that it has while a field is shown."""

    path: str
    value: str


@dataclass(frozen=True)
class Reference:
    """The objects whose names are offered. Without a version the kind is one of Kubernetes' own."""

    kind: str
    group: str = ""
    version: str = ""
    label_selector: str = ""


@dataclass(frozen=True)
class Descriptor:
    """A descriptor. `uses` are its x-descriptors without prefix: `ui:password`, `io.kubernetes:Secret`."""

    path: str
    title: str = ""
    text: str = ""
    uses: tuple[str, ...] = ()
    order: int = 0

    def has(self, *names: str) -> bool:
        """Report whether it has one of these uses of `ui:`."""
        return any(f"ui:{name}" in self.uses for name in names)

    @property
    def is_hidden(self) -> bool:
        """True if the field has no control."""
        return self.has("hidden")

    @property
    def built_in(self) -> str:
        """The use for an object whose fields are known; "" if there is none."""
        names = (use.removeprefix("ui:") for use in self.uses)
        return next((name for name in names if name in BUILT_IN_OBJECTS), "")

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of `ui:select:<value>`, each once."""
        if self.has("imagePullPolicy"):
            return "Always", "IfNotPresent", "Never"
        found = (use.removeprefix("ui:select:") for use in self.uses if use.startswith("ui:select:"))
        return tuple(dict.fromkeys(found))

    @property
    def group(self) -> str:
        """The name of its fieldset; "" if it has none."""
        for use in self.uses:
            for prefix in ("ui:fieldGroup:", "ui:arrayFieldGroup:"):
                if use.startswith(prefix):
                    return use.removeprefix(prefix)
        return ""

    @property
    def dependency(self) -> Dependency | None:
        """The condition under which the field is shown; None if it always is."""
        for use in self.uses:
            if use.startswith("ui:fieldDependency:"):
                path, separator, value = use.removeprefix("ui:fieldDependency:").rpartition(":")
                return Dependency(path, value) if separator and path else None
        return None

    @property
    def reference(self) -> Reference | None:
        """The kind whose objects can be chosen; None if it names none."""
        return next(filter(None, map(_reference, self.uses)), None)


def _reference(use: str) -> Reference | None:
    if use.startswith("io.kubernetes:"):
        kind = use.removeprefix("io.kubernetes:")
        return Reference(kind) if kind[:1].isupper() and kind.isalnum() else None
    if not use.startswith("ui:selector:"):
        return None
    text, _, query = use.removeprefix("ui:selector:").partition("?")
    parts = text.split(":")
    if len(parts) != 3 or not all(parts):
        return None
    group = "" if parts[0] == "core" else parts[0]
    return Reference(parts[2], group, parts[1], query.removeprefix("labelSelector="))


def read(owned: Mapping[str, Any], section: str) -> tuple[Descriptor, ...]:
    """The descriptors of an owned kind, of `spec`, `status` or `action`, in their order."""
    listed = owned.get(f"{section}Descriptors")
    found = []
    for order, each in enumerate(listed[:MAX_DESCRIPTORS] if isinstance(listed, list) else ()):
        if isinstance(each, Mapping) and (path := _text(each, "path")):
            title, text = clean(_text(each, "displayName"))[:200], clean(_text(each, "description"))[:MAX_TEXT]
            found.append(Descriptor(path, title, text, tuple(_uses(each.get("x-descriptors"))), order))
    return tuple(found)


def _uses(listed: object) -> Iterator[str]:
    for each in listed[:MAX_USES] if isinstance(listed, list) else ():
        if not isinstance(each, str):
            continue
        text = each.strip().removeprefix(PREFIX)
        if text.startswith(_OPENSHIFT):
            text = "ui:" + text.removeprefix(_OPENSHIFT)
        while text.startswith("ui:ui:"):
            text = text.removeprefix("ui:")
        yield text


def _text(holder: Mapping[str, Any], key: str) -> str:
    text = holder.get(key)
    return text.strip() if isinstance(text, str) else ""


def by_trail(found: Iterable[Descriptor], schema: Schema) -> dict[Trail, Descriptor]:
    """The descriptors by the field that they are about, below `schema`; the first one counts. Others are dropped."""
    placed: dict[Trail, Descriptor] = {}
    for each in found:
        trail = find_trail(schema, each.path)
        if trail is not None and trail not in placed:
            placed[trail] = each
    return placed


def find_trail(schema: Schema, path: str) -> Trail | None:
    """The field of the schema at this path: `a.b`, `list[0].name`. Names may have dots. None if there is none."""
    pending: list[tuple[Schema, str, Trail]] = [(schema, path.replace("[", ".[").strip("."), ())] if path else []
    for _ in range(_MAX_STEPS):
        if not pending:
            break
        known, left, trail = pending.pop()
        if not left:
            return trail
        if isinstance(items := known.get("items"), Mapping):
            step, _, rest = left.partition(".")
            is_index = step.startswith("[") or step.isdigit() or step == "*"
            pending.append((items, rest if is_index else left, (*trail, ITEM)))
            continue
        fields = known.get("properties")
        for name, field in reversed(fields.items()) if isinstance(fields, dict) else ():
            if isinstance(field, Mapping) and (left == name or left.startswith((f"{name}.",))):
                pending.append((field, left[len(name) + 1 :], (*trail, name)))
    return None


def values_at(value: Any, path: str) -> list[Any]:
    """The values in a status at the path of a descriptor, at most 100: more than one if it leads through a list."""
    found = [(value, path.replace("[", ".[").strip("."))]
    values: list[Any] = []
    for _ in range(_MAX_STEPS):
        if not found or len(values) >= 100:
            break
        each, left = found.pop()
        if not left:
            values.append(each)
        elif isinstance(each, list):
            step, _, rest = left.partition(".")
            index = step.strip("[]")
            if index.isdecimal() and len(index) < 6:
                found += [(item, rest) for item in each[int(index) : int(index) + 1]]
            else:
                found += [(item, rest if step in ("*", "[*]", "[]") else left) for item in reversed(each)]
        elif isinstance(each, dict):
            found += [
                (item, left[len(name) + 1 :])
                for name, item in each.items()
                if left == name or left.startswith(f"{name}.")
            ]
    return values
