"""What stays of a CustomResourceDefinition until its new conversion webhook can be called, and what cannot be prevented."""

from __future__ import annotations

from dataclasses import replace

import pytest

from olmkit.api.customresourcedefinitions import NO_WEBHOOK, Conversion, CustomResourceDefinition
from rukpak.crds.conversion_order import Held, Versions, held_of, interruption

OLD = Conversion("Webhook", "ship", "engine-service", "/convert", 443)
PATH, MOVED = OLD._replace(path="/v2/convert"), OLD._replace(service="converter-service")
BOTH = ("v1", "v2")
NAME = "boats.example.com"
REQUESTS = f"requests for custom resources of {NAME} that have to be converted"


def live(conversion: Conversion, *served: str, storage: str = "v1") -> CustomResourceDefinition:
    return CustomResourceDefinition(
        NAME, served_versions=served, stored_versions=(storage,), storage_version=storage, conversion=conversion
    )


def wanted(conversion: Conversion, *served: str, storage: str = "v1") -> Versions:
    return Versions(served, served, storage, conversion)


@pytest.mark.parametrize(
    ("found", "asked", "held", "said"),
    [
        pytest.param(live(OLD, *BOTH), wanted(OLD, *BOTH), Held(), "", id="nothing changes"),
        pytest.param(live(OLD, *BOTH), wanted(NO_WEBHOOK, "v1"), Held(), "", id="no webhook is needed any more"),
        pytest.param(live(NO_WEBHOOK, *BOTH), wanted(NO_WEBHOOK, *BOTH, storage="v2"), Held(), "", id="there is none"),
        pytest.param(
            live(NO_WEBHOOK, "v1"), wanted(OLD, *BOTH, storage="v2"), Held("v1"), "", id="it comes with a version"
        ),
        pytest.param(
            live(NO_WEBHOOK, *BOTH),
            wanted(OLD, *BOTH),
            Held(conversion=NO_WEBHOOK),
            "",
            id="it comes for the same ones",
        ),
        pytest.param(
            live(NO_WEBHOOK, *BOTH),
            wanted(OLD, *BOTH, "v3", storage="v3"),
            Held("v1"),
            f"{REQUESTS} fail until Service ship/engine-service answers",
            id="it comes with a version that may not be served without it",
        ),
        pytest.param(
            live(OLD, *BOTH), wanted(MOVED, *BOTH), Held(conversion=OLD), "", id="it moves to another Service"
        ),
        pytest.param(
            live(OLD, *BOTH),
            wanted(MOVED, *BOTH, "v3", storage="v3"),
            Held("v1", OLD),
            "",
            id="it moves, and another version is stored",
        ),
        pytest.param(
            live(OLD, *BOTH),
            wanted(PATH, *BOTH),
            Held(conversion=OLD),
            f"{REQUESTS} may fail while the pods behind Service ship/engine-service are replaced, unless both versions of them "
            "serve the old and the new path or port: /convert on port 443 -> /v2/convert on port 443",
            id="it moves to another path",
        ),
        pytest.param(
            live(OLD, *BOTH, storage="v0"),
            wanted(OLD, *BOTH, storage="v2"),
            Held(),
            f"{REQUESTS} fail until Service ship/engine-service answers",
            id="the version that is stored is gone",
        ),
    ],
)
def test_what_the_installed_version_needs_stays_where_it_can(
    found: CustomResourceDefinition, asked: Versions, held: Held, said: str
) -> None:
    assert held_of(found, asked) == held
    assert interruption(found, asked, is_awaited=True) == said


@pytest.mark.parametrize(
    ("found", "asked", "said"),
    [
        pytest.param(live(OLD, *BOTH), wanted(OLD, *BOTH), "", id="nothing changes"),
        pytest.param(live(NO_WEBHOOK, "v1"), wanted(OLD, *BOTH), "", id="nobody uses two versions yet"),
        pytest.param(
            live(OLD, *BOTH),
            wanted(MOVED, *BOTH),
            f"{REQUESTS} fail until Service ship/converter-service answers",
            id="it moves",
        ),
        pytest.param(
            live(OLD, *BOTH),
            wanted(OLD, *BOTH, storage="v2"),
            f"{REQUESTS} fail until Service ship/engine-service answers",
            id="another version is stored",
        ),
    ],
)
def test_a_webhook_that_nobody_waits_for_interrupts(
    found: CustomResourceDefinition, asked: Versions, said: str
) -> None:
    assert interruption(found, asked, is_awaited=False) == said


def test_what_was_moved_is_held_no_longer() -> None:
    """What is held follows from the cluster, so that a process that starts in between continues."""
    asked = wanted(MOVED, *BOTH, storage="v2")
    assert held_of(live(OLD, *BOTH), asked)
    moved = replace(live(OLD, *BOTH), conversion=MOVED, storage_version="v2")
    assert not held_of(moved, asked)
