"""The rules about CustomResourceDefinitions that would refuse the version that waits, as operator-controller reports them. Pure.

Reads the API server's JSON: operator-controller may be older or newer than this program.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmctl.questions.errors import Refused
from olmctl.questions.operator_state import available_version, is_observed, part, text_at
from olmctl.terminal import clean
from olmkit.api.crd_upgrade_rules import CrdCheckResult
from olmkit.api.meta import Object


@dataclass(frozen=True)
class CrdCheck:
    """The check of the version that waits."""

    version: str
    is_refused: bool
    """True if it would be refused, whatever custom resources exist."""
    summary: str
    """One sentence about it."""
    findings: tuple[str, ...]
    """A line about each rule."""

    @property
    def text(self) -> str:
        """The sentence, with the rules."""
        return f"{self.summary}: {'; '.join(self.findings)}" if self.findings else self.summary


def crd_check(operator: Object) -> CrdCheck | None:
    """The check of the version that waits for an Operator; None if none does, if it is not known, or if no rule refuses it."""
    found, name = part(operator, "status", "available", "crdCheck"), text_at(operator, "metadata", "name")
    result = text_at(found, "result")
    if not is_observed(operator) or result not in (CrdCheckResult.REFUSED, CrdCheckResult.IF_USED):
        return None
    is_refused = result == CrdCheckResult.REFUSED
    summary = (
        "it would be refused, because it breaks rules about CustomResourceDefinitions"
        if is_refused
        else f"custom resources decide whether it is refused (olm diff {name})"
    )
    findings = [_line(each) for each in part(found, "findings") or () if isinstance(each, dict)]
    more = part(found, "more")
    if isinstance(more, int) and more > 0:
        findings.append(f"and {more} more")
    return CrdCheck(available_version(operator), is_refused, summary, tuple(findings))


def check_not_refused(operator: Object, version: str) -> None:
    """Raises Refused if it is known that the version would be refused for its CustomResourceDefinitions."""
    found = crd_check(operator)
    if found is not None and found.is_refused and found.version == version:
        name = text_at(operator, "metadata", "name")
        advice = f"olm diff {name} {version} shows everything, --force asks for it all the same"
        raise Refused(clean(f"{name}: {version}: {found.text}; {advice}"))


def _line(finding: Object) -> str:
    crd, rule, message = (text_at(finding, key) for key in ("crd", "rule", "message"))
    return f"{crd}: {rule}: {message}"
