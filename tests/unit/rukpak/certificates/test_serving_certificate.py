"""When a certificate is issued, and when its rotation takes the next step."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rukpak.certificates.serving_certificate import (
    ROTATION_LEAD,
    SETTLE_TIME,
    Rollout,
    ServingCertificate,
    Step,
    next_step,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
FRESH = ServingCertificate(
    digest="d", authorities="a", not_before=NOW - timedelta(days=1), not_after=NOW + timedelta(days=90)
)
DUE = replace(FRESH, not_after=NOW + ROTATION_LEAD)
TRUSTED, SWITCHED = replace(DUE, has_next=True), replace(FRESH, has_old_authority=True)
NOBODY = Rollout(None, is_complete=False)
CLIENTS = Rollout(NOW - SETTLE_TIME, is_complete=False)
ALL = replace(CLIENTS, is_complete=True)


@pytest.mark.parametrize(
    ("known", "rollout", "wanted"),
    [
        pytest.param(replace(FRESH, problem="the key is gone"), NOBODY, Step.ISSUE, id="broken"),
        pytest.param(replace(FRESH, not_after=NOW - SECOND), ALL, Step.ISSUE, id="expired"),
        pytest.param(replace(TRUSTED, not_after=NOW - SECOND), ALL, Step.ISSUE, id="expired within a rotation"),
        pytest.param(replace(FRESH, not_before=NOW + SECOND), ALL, Step.ISSUE, id="of the future"),
        pytest.param(FRESH, NOBODY, timedelta(days=90) - ROTATION_LEAD, id="fresh"),
        pytest.param(DUE, NOBODY, Step.TRUST, id="due"),
        pytest.param(replace(DUE, not_after=DUE.not_after + SECOND), ALL, SECOND, id="due in a second"),
        pytest.param(TRUSTED, NOBODY, ROTATION_LEAD, id="a client lacks the authorities"),
        pytest.param(TRUSTED, CLIENTS, Step.SWITCH, id="every client trusts the next one"),
        pytest.param(
            TRUSTED, replace(CLIENTS, last_write=NOW + 60 * DAY), Step.SWITCH, id="written by a clock that was ahead"
        ),
        pytest.param(
            replace(TRUSTED, next_not_before=NOW + 60 * DAY), ALL, Step.TRUST, id="a next one of the future is replaced"
        ),
        pytest.param(TRUSTED, replace(CLIENTS, last_write=NOW), SETTLE_TIME, id="a client has just got them"),
        pytest.param(replace(TRUSTED, has_old_authority=True), CLIENTS, Step.SWITCH, id="an authority is left over"),
        pytest.param(SWITCHED, CLIENTS, timedelta(days=90), id="old pods run"),
        pytest.param(SWITCHED, ALL, Step.DROP, id="all pods have the new one"),
        pytest.param(SWITCHED, Rollout(None, is_complete=True), timedelta(days=90), id="a client is not up to date"),
    ],
)
def test_next_step(known: ServingCertificate, rollout: Rollout, wanted: Step | timedelta) -> None:
    assert next_step(known, rollout, NOW) == wanted
