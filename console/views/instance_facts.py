"""The facts of an instance that a page shows beside its YAML: what descriptors name, its state, and its conditions. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from console.forms.descriptors import Descriptor, read, values_at
from console.forms.field import humanized, text_of
from console.forms.yaml_text import dump
from console.views.instances import Fact
from olmctl.questions.operator_state import conditions, part, text_at
from olmctl.terminal import clean, shorten

MAX_TEXT: Final = 500
MAX_PODS: Final = 100
_GOOD: Final = frozenset({"ready", "running", "available", "active", "succeeded", "completed", "healthy", "bound"})
_BAD: Final = frozenset({"failed", "error", "degraded", "crashloopbackoff", "unhealthy", "stalled"})
_UP: Final = ("Ready", "Available", "Healthy")
"""Types of conditions that say that all is well."""


def state_of(obj: Mapping[str, Any]) -> tuple[str, str]:
    """The kind of the badge and its words: by a condition, else by a phase; two empty texts if the instance says neither."""
    if text_at(obj, "metadata", "deletionTimestamp"):
        return "warn", "Terminating"
    by_type = {text_at(each, "type"): text_at(each, "status") for each in conditions(dict(obj))}
    for name in _UP:
        if name in by_type:
            return {"True": ("ok", name), "False": ("bad", f"Not {name.lower()}")}.get(
                by_type[name], ("info", f"{name}: unknown")
            )
    for key in ("phase", "state", "health"):
        if text := text_at(obj, "status", key):
            return badge_of(text), shorten(clean(text), 60)
    return "", ""


def badge_of(text: str) -> str:
    """The kind of the badge for a word about a state."""
    word = text.strip().lower()
    return "ok" if word in _GOOD else "bad" if word in _BAD else "info"


def conditions_of(obj: Mapping[str, Any]) -> tuple[tuple[str, str, str, str, str], ...]:
    """Type, status, reason, message and time of its conditions."""
    keys = ("type", "status", "reason", "message", "lastTransitionTime")
    return tuple(_condition(each, keys) for each in conditions(dict(obj))[:50])


def _condition(found: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, str, str, str, str]:
    kind, status, reason, message, time = (text_at(found, key) for key in keys)
    return kind[:100], status[:20], reason[:200], message[:2000], time


def facts_of(obj: Mapping[str, Any], owned: Mapping[str, Any], revealed: str = "") -> tuple[Fact, ...]:
    """The values that the descriptors name, of the status first, then of the spec; then the actions, as text.

    `revealed`: the one password to show, such as `status.password`.
    """
    return (
        *_facts(obj, owned, "status", revealed),
        *_facts(obj, owned, "spec", revealed),
        *(Fact(_title(each), each.text, "text", each.path) for each in read(owned, "action")),
    )


def own_facts(obj: Mapping[str, Any], columns: Mapping[str, str]) -> tuple[Fact, ...]:
    """The facts of an instance whose publisher names none: what lists show of it, its age, and its labels."""
    labels = part(dict(obj), "metadata", "labels") or {}
    found = [Fact(name, "", "text", text) for name, text in columns.items() if text]
    if created := text_at(obj, "metadata", "creationTimestamp"):
        found.append(Fact("Created", "", "age", created))
    if isinstance(labels, dict) and labels:
        text = ", ".join(f"{clean(str(key))}={clean(str(value))}" for key, value in sorted(labels.items()))
        found.append(Fact("Labels", "", "text", shorten(text, MAX_TEXT)))
    return tuple(found)


def _facts(obj: Mapping[str, Any], owned: Mapping[str, Any], section: str, revealed: str) -> Iterator[Fact]:
    for each in read(owned, section):
        if each.is_hidden or (section == "spec" and each.has("advanced")):
            continue
        values = values_at(obj.get(section), each.path)
        if values and values != [None]:
            name = f"{section}.{each.path}"
            yield _secret(each, name, values, name == revealed) if each.has("password") else _fact(each, values)


def _title(descriptor: Descriptor) -> str:
    return descriptor.title or clean(humanized(descriptor.path.rpartition(".")[2]))


def _secret(descriptor: Descriptor, name: str, values: list[Any], is_revealed: bool) -> Fact:
    text = shorten(_text(values[0]), MAX_TEXT) if is_revealed else ""
    return Fact(_title(descriptor), descriptor.text, "secret", text, kind=name)


def _fact(descriptor: Descriptor, values: list[Any]) -> Fact:
    title, about, value = _title(descriptor), descriptor.text, values[0]
    if descriptor.has("podStatuses") and isinstance(value, dict):
        rows = tuple(
            (str(state)[:60], str(len(names)), ", ".join(map(str, names[:MAX_PODS])))
            for state, names in value.items()
            if isinstance(names, list) and names
        )
        return Fact(title, about, "pods", rows=rows)
    if ("io.kubernetes.conditions" in descriptor.uses or descriptor.has("conditions")) and isinstance(value, list):
        return Fact(title, about, "conditions", rows=conditions_of({"status": {"conditions": value}}))
    text = shorten(", ".join(_text(each) for each in values), MAX_TEXT)
    if "org.w3:link" in descriptor.uses and (link := safe_link(text)):
        return Fact(title, about, "link", text, link, urlsplit(link).hostname or "")
    if "io.kubernetes.phase" in descriptor.uses:
        return Fact(title, about, "badge", text, kind=badge_of(text))
    if descriptor.reference is not None:
        return Fact(title, about, "object", text, kind=descriptor.reference.kind)
    return Fact(title, about, "yaml" if "\n" in text else "text", text)


def _text(value: Any) -> str:
    return dump(value) if isinstance(value, dict | list) else clean(text_of(value))


def safe_link(text: str) -> str:
    """The address if it is an absolute one of the web without credentials; else empty."""
    if not text.isprintable() or any(each in text for each in ' \\"<>'):
        return ""
    try:
        parts = urlsplit(text)
        is_safe = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return ""
    return text if is_safe else ""
