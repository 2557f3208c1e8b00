"""The state of the serving certificate in a Secret, and the next step of its rotation.

Contains no private key. A rotation takes three writes of the Secret, and each is decided from its content alone, so that it
continues after the process is killed:

    certificate                    its authority is trusted
    certificate + next             the authority of the next one is trusted too      TRUST
    next as certificate + old      the authority of the old one is still trusted     SWITCH
    certificate                    only its own authority is trusted                 DROP

Between TRUST and SWITCH every client has the new authorities, between SWITCH and DROP every pod the new certificate. A
certificate that cannot be served is replaced at once (ISSUE). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from olmkit.stored_times import is_ahead, time_left

LIFETIME = timedelta(days=730)
"""The time for which a certificate and its authority are valid, as in OLM v0."""
ROTATION_LEAD = timedelta(days=30)
"""The time before the end of a certificate at which its rotation begins. OLM v0 has one day, which a weekend exceeds."""
MAX_COMMON_NAME = 64
"""Characters of a common name, by X.509."""
SETTLE_TIME = timedelta(seconds=10)
"""The time from the last write to a client of a certificate, or to its pods, to the next step: API servers follow their watches
within it, and no request reaches a pod that has been replaced."""


class Step(StrEnum):
    """The steps of a rotation: each is a write of a Secret."""

    ISSUE = "issued"
    TRUST = "trusts the next certificate"
    SWITCH = "serves the next certificate"
    DROP = "trusts only its own authority"
    LABEL = "has other labels"
    """No step of a rotation: the Secret keeps its data, and gets the labels that are asked for."""


@dataclass(frozen=True)
class ServingCertificate:
    """The certificate in a Secret."""

    problem: str = ""
    """The reason why it cannot be served, at any time; empty: it can."""
    digest: str = ""
    """Digest of the certificate; pods have it in an annotation."""
    authorities: str = ""
    """PEM of the certificate authorities that clients trust."""
    not_before: datetime = datetime.min
    not_after: datetime = datetime.max
    has_next: bool = False
    """True if the next certificate is there, and its authority is trusted."""
    next_not_before: datetime | None = None
    """The time when the next certificate begins to be valid; None if there is none."""
    has_old_authority: bool = False
    """True if an authority is trusted that issued neither this certificate nor the next one."""

    labels_digest: str = ""
    """Digest of the labels that its Secret was written with; empty if there were none."""

    def problem_at(self, now: datetime) -> str:
        """Explain why it cannot be served now; empty if it can."""
        if self.problem:
            return self.problem
        if now > self.not_after:
            return "it has expired"
        return "it is not valid yet" if now < self.not_before else ""

    @property
    def rotates_at(self) -> datetime:
        """The time when the next rotation begins."""
        return self.not_after - ROTATION_LEAD


@dataclass(frozen=True)
class Rollout:
    """The progress of the content of a Secret on its way to those who use it."""

    last_write: datetime | None
    """The time of the last write to a client or to the pods; None: a client does not have the authorities yet."""
    is_complete: bool
    """True if all pods have the certificate."""


def common_name(host_name: str) -> str:
    """The common name of a certificate for this host; of a name that is too long, its first label.

    Clients compare the other names only. cert-manager refuses a Certificate with a longer one.
    """
    return host_name if len(host_name) <= MAX_COMMON_NAME else host_name.partition(".")[0][:MAX_COMMON_NAME]


def next_step(known: ServingCertificate, rollout: Rollout, now: datetime) -> Step | timedelta:
    """The next step of the rotation, or the time until there may be one, at most until it begins."""
    if known.problem_at(now):
        return Step.ISSUE
    if not known.has_next and not known.has_old_authority:
        return Step.TRUST if now >= known.rotates_at else known.rotates_at - now
    if known.next_not_before is not None and is_ahead(known.next_not_before, now):
        return Step.TRUST  # another one: the clock by which it was made was wrong
    step, is_reached = (Step.SWITCH, True) if known.has_next else (Step.DROP, rollout.is_complete)
    if rollout.last_write is None or not is_reached:
        return known.not_after - now
    return time_left(rollout.last_write, SETTLE_TIME, now) or step
