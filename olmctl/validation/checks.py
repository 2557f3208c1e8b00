"""The checks of a bundle in their order: load, format, content, the optional ones that are selected, and those beyond upstream's.

Pure but for three optional ones: they ask registries, and read a file of categories and a Dockerfile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from olmctl.validation import crd_rules, csv_rules, format, objects, whole_bundle
from olmctl.validation.file_tree import FileTree
from olmctl.validation.finding import ERROR, Finding
from olmctl.validation.load import HELM, load
from olmctl.validation.load_faults import LoadFault
from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.result import Result

LOAD = "load"
MAX_FINDINGS = 2_000
"""Findings of one check about one bundle."""
MAX_MESSAGE_CHARACTERS = 100_000
_NOT_CHECKED = "Nothing else of the bundle was checked."

Check = Callable[[LoadedBundle], Iterable[Finding]]
CONTENT: Sequence[Check] = (objects.check, whole_bundle.check, csv_rules.check, crd_rules.check)
"""The checks of the content, which a Helm chart is not checked by."""


@dataclass(frozen=True)
class Options:
    """`upstream`: only what upstream's validators find. `selector` selects optional validators, which get the `values`."""

    upstream: bool = False
    selector: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


def validated(tree: FileTree, origin: str, options: Options, directory: str = "") -> Result:
    """The findings about the bundle with these files. `origin` is its name as the user gave it."""
    return Result(origin, tuple(map(_bounded, _findings(tree, origin, options, directory))))


def _findings(tree: FileTree, origin: str, options: Options, directory: str) -> Iterator[Finding]:
    try:
        bundle = load(tree, origin, directory)
    except LoadFault as fault:
        hint = f"{fault.hint} {_NOT_CHECKED}".lstrip()
        yield Finding(
            ERROR, fault.text, LOAD, field=fault.field, file=fault.file, line=fault.line, rule="load", hint=hint
        )
        if not options.upstream:
            extra = _extra(LoadedBundle(origin, tree.files))
            yield from (each for each in extra if (each.file, each.line) != (fault.file, fault.line))
        return
    for check in (format.check, *(CONTENT if bundle.media_type != HELM else ())):
        yield from _first(check(bundle))
    yield from _optional(bundle, options)
    if not options.upstream:
        yield from _extra(bundle)


def _optional(bundle: LoadedBundle, options: Options) -> Iterator[Finding]:
    if not options.selector:
        return
    from olmctl.validation.optional.registry import selected

    for validator in selected(options.selector):
        found = _first(validator.run(bundle, options.values))
        yield from (each for each in found if not (each.extra and options.upstream))


def _extra(bundle: LoadedBundle) -> Iterator[Finding]:
    from olmctl.validation.extra.registry import check

    return _first(check(bundle))


def _first(findings: Iterable[Finding]) -> Iterator[Finding]:
    for number, finding in enumerate(findings):
        if number == MAX_FINDINGS:
            text = f"more than {MAX_FINDINGS:,} findings of the validator {finding.validator}: correct these first"
            yield Finding(ERROR, text, finding.validator, rule="too-many-findings", extra=True)
            return
        yield finding


def _bounded(finding: Finding) -> Finding:
    if len(finding.message) <= MAX_MESSAGE_CHARACTERS:
        return finding
    return replace(
        finding, message=finding.message[:MAX_MESSAGE_CHARACTERS], value=finding.value[:MAX_MESSAGE_CHARACTERS]
    )
