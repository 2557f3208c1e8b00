"""Kubernetes objects as templates of Helm: placeholders in an object become expressions in its YAML.

An object is changed as a value, by inserting placeholders where the text depends on the values of the chart; the YAML of the
object is written as for any other file, and the placeholders in it are replaced. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from olmctl.object_text import as_yaml
from olmkit.api.meta import Object

Lines = Callable[[str], list[str]]
"""The lines that stand in the place of a block, given the blanks before it."""

_INLINE = re.compile(r"(?:inline|text)-(\d+)-placeholder")
_WHOLE_TEXT = re.compile(r"(?<=: )text-(\d+)-placeholder$", re.MULTILINE)
_BLOCK = re.compile(r"^(?P<indent> *)(?:- )?block-(?P<number>\d+)-placeholder(?:: null)?$", re.MULTILINE)


class Placeholders:
    """The expressions of one template. An instance is used for one object, or for several that stand in one file."""

    def __init__(self) -> None:
        """Without expressions."""
        self._expressions: list[str] = []
        self._blocks: list[Lines] = []

    def inline(self, expression: str) -> str:
        """A placeholder for an expression of Helm, such as `.Release.Namespace`, within a text or instead of a value."""
        self._expressions.append(expression)
        return f"inline-{len(self._expressions) - 1}-placeholder"

    def text(self, expression: str) -> str:
        """The same for a text, which is in quotes where it is the whole value: YAML would read `123` as a number."""
        return self.inline(expression).replace("inline", "text")

    def block(self, lines: Lines) -> str:
        """A placeholder for lines: an item of a list, or the key of a mapping whose value is None."""
        self._blocks.append(lines)
        return f"block-{len(self._blocks) - 1}-placeholder"

    def write(self, obj: Object) -> str:
        """The YAML of an object with the expressions in the place of their placeholders."""
        text = as_yaml(obj).replace("{{", '{{ "{{" }}')
        text = _BLOCK.sub(lambda match: "\n".join(self._blocks[int(match["number"])](match["indent"])), text)
        text = _WHOLE_TEXT.sub(lambda match: "{{ " + self._expressions[int(match[1])] + " | quote }}", text)
        return _INLINE.sub(lambda match: "{{ " + self._expressions[int(match[1])] + " }}", text)


def optional(key: str, value: str) -> Lines:
    """The lines of a field that stands there only if the value of the chart, such as `.Values.nodeSelector`, is not empty."""

    def lines(indent: str) -> list[str]:
        return [
            f"{indent}{{{{- with {value} }}}}",
            f"{indent}{key}:",
            f"{indent}  {{{{- toYaml . | nindent {len(indent) + 2} }}}}",
            f"{indent}{{{{- end }}}}",
        ]

    return lines


def optional_text(key: str, value: str, suffix: str = "") -> Lines:
    """The line of a text field, the value of the chart and a suffix, that stands there only if the value is not empty."""
    text = f'print . "{suffix}"' if suffix else "."
    return lambda indent: [
        f"{indent}{{{{- with {value} }}}}",
        f"{indent}{key}: {{{{ {text} | quote }}}}",
        f"{indent}{{{{- end }}}}",
    ]


def mapping(key: str, value: str) -> Lines:
    """The lines of a field that always has the value of the chart."""
    return lambda indent: [f"{indent}{key}:", f"{indent}  {{{{- toYaml {value} | nindent {len(indent) + 2} }}}}"]


def entries(value: str) -> Lines:
    """Entries of a mapping, or items of a list, from a value of the chart that may be empty."""
    return lambda indent: [
        f"{indent}{{{{- with {value} }}}}",
        f"{indent}{{{{- toYaml . | nindent {len(indent)} }}}}",
        f"{indent}{{{{- end }}}}",
    ]


def argument(flag: str, value: str, condition: str) -> Lines:
    """An item of `args` that stands there only under a condition."""
    return lambda indent: [
        f"{indent}{{{{- if {condition} }}}}",
        f'{indent}- {{{{ printf "--{flag}=%v" {value} | quote }}}}',
        f"{indent}{{{{- end }}}}",
    ]


def either(condition: str, text: str, other: str = "") -> Lines:
    """The lines of one text under a condition, and else those of another one."""

    def lines(indent: str) -> list[str]:
        first, second = ([f"{indent}{line}" for line in each.splitlines()] for each in (text, other))
        return [
            f"{indent}{{{{- if {condition} }}}}",
            *first,
            *([f"{indent}{{{{- else }}}}", *second] if second else []),
            f"{indent}{{{{- end }}}}",
        ]

    return lines


def conditional(text: str, condition: str) -> str:
    """A template that is rendered only under a condition."""
    return f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else text


def insert_before(fields: dict[str, Any], key: str, placeholder: str) -> None:
    """Insert a placeholder before a key of a mapping, whose order is kept."""
    items = list(fields.items())
    fields.clear()
    for name, value in items:
        if name == key:
            fields[placeholder] = None
        fields[name] = value
