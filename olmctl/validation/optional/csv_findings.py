"""Values of a ClusterServiceVersion for the optional validators, and findings about it as upstream writes them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olmctl.validation.finding import CSV_NOT_VALID, VALIDATION_FAILED, Finding, Level, csv_message, detailed
from olmctl.validation.go_values import format_value
from olmctl.validation.loaded_bundle import Document, LoadedBundle
from olmctl.validation.places import line_of
from olmkit.gocompat.text import quoted
from rukpak.format.objects import mapping, mappings

Values = Mapping[str, str]
"""The values of --optional-values."""
Path = tuple[str | int, ...]

DEPLOYMENTS: Path = ("spec", "install", "spec", "deployments")


def text_of(value: Any) -> str:
    """A value that Go reads as a string: of a number its digits, of null nothing."""
    return "" if value is None else format_value(value)


def texts_of(value: Any) -> list[str]:
    """The values of a list that Go reads as strings."""
    items = value if isinstance(value, list) else []
    return [text_of(each) for each in items if not isinstance(each, dict | list)]


def install_spec(csv: Document) -> Mapping[str, Any]:
    """spec.install.spec of a ClusterServiceVersion."""
    return mapping(mapping(csv.spec.get("install")).get("spec"))


def containers(csv: Document) -> Iterator[tuple[Path, Mapping[str, Any], Mapping[str, Any]]]:
    """The containers of all Deployments with their paths and the specs of their pods, init containers left out."""
    for index, deployment in enumerate(mappings(install_spec(csv).get("deployments"))):
        pod = mapping(mapping(mapping(deployment.get("spec")).get("template")).get("spec"))
        for number, container in enumerate(mappings(pod.get("containers"))):
            path = (*DEPLOYMENTS, index, "spec", "template", "spec", "containers", number)
            yield path, container, pod


def quoted_list(items: Iterable[str], *, ascii_only: bool = True) -> str:
    """The list as Go's %+q prints it, as %q with `ascii_only=False`: `["a" "b"]`."""
    texts = [quoted(item) for item in items]
    if ascii_only:
        texts = ["".join(map(_ascii, text)) for text in texts]
    return f"[{' '.join(texts)}]"


def _ascii(character: str) -> str:
    code = ord(character)
    if code < 0x80:
        return character
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@dataclass(frozen=True)
class Reporter:
    """Makes the findings of one validator about one ClusterServiceVersion."""

    validator: str
    csv: Document

    @classmethod
    def of(cls, validator: str, bundle: LoadedBundle) -> Reporter | None:
        """The reporter for the ClusterServiceVersion of a bundle; None if it has none."""
        return cls(validator, bundle.csv) if bundle.csv is not None else None

    def invalid(self, level: Level, rule: str, text: str, path: Sequence[str | int] = (), hint: str = "") -> Finding:
        """A finding of type CSVFileNotValid."""
        found = self._found(level, rule, path, hint)
        return replace(found, message=csv_message(level, self.csv.name, text), error_type=CSV_NOT_VALID)

    def failed(self, level: Level, rule: str, text: str, path: Sequence[str | int] = (), hint: str = "") -> Finding:
        """A finding of type ValidationFailed, whose value is the name of the ClusterServiceVersion."""
        found, name = self._found(level, rule, path, hint), self.csv.name
        return replace(found, message=detailed(level, text, value=name), error_type=VALIDATION_FAILED, value=name)

    def _found(self, level: Level, rule: str, path: Sequence[str | int], hint: str) -> Finding:
        line = line_of(self.csv.data, path)
        return Finding(level, "", self.validator, file=self.csv.file, line=line, rule=rule, hint=hint)
