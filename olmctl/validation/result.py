"""The result of the validation of one bundle. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from olmctl.validation.finding import ERROR, Finding


@dataclass(frozen=True)
class Result:
    """The findings about a bundle, in the order of the checks; `bundle` is its name as the user gave it."""

    bundle: str
    findings: Sequence[Finding] = ()

    @property
    def passed(self) -> bool:
        """True if no finding is an error."""
        return not any(finding.level == ERROR for finding in self.findings)
