"""The findings of an optional validator, as the tests compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from olmctl.validation.finding import Finding
from olmctl.validation.loaded_bundle import LoadedBundle

Validator = Callable[[LoadedBundle, Mapping[str, str]], Iterable[Finding]]


def found(validator: Validator, bundle: LoadedBundle, **values: str) -> list[tuple[str, str]]:
    """Level and message of each finding; names of values have `_` for `-`."""
    given = {name.replace("_", "-"): value for name, value in values.items()}
    findings = list(validator(bundle, given))
    for each in findings:
        assert each.rule
        assert each.hint
        assert each.line > 0
        assert each.file in bundle.files
    return [(each.level, each.message) for each in findings]
