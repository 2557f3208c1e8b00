"""Whether the kinds of OLM v1 are applied: by --serve-v1, the CRDs on the cluster, and the Leases of OLM v1."""

from __future__ import annotations

import pytest

from olmctl.questions.errors import Refused
from olmctl.suite.v1_kinds import Choice, Renewal, ServeV1, choose
from olmkit.api.meta import Object

OURS: Object = {"metadata": {"labels": {"app.kubernetes.io/part-of": "olm-suite"}}}
THEIRS: Object = {"metadata": {"annotations": {"olm.operatorframework.io/generator": "standard"}}}
TAKEN_OVER: Object = {"metadata": {**OURS["metadata"], **THEIRS["metadata"]}}
LEADER = Renewal("olmv1-system", "catalogd-operator-lock", "catalogd-7c9_6a1b")
APPLIED = Choice(True)
RENEWED = "Lease olmv1-system/catalogd-operator-lock is renewed by catalogd-7c9"
OF_OTHERS = (
    "ClusterCatalog and ClusterExtension are OLM v1's: --serve-v1=Always takes them over when its controllers are gone"
)
LEFT = f"ClusterCatalog and ClusterExtension are left to OLM v1: {RENEWED}"
STAYING = "the CRDs of ClusterCatalog and ClusterExtension stay, because their objects would be deleted with them"
CRDS: dict[str, list[Object | None]] = {
    "absent": [None, None],
    "ours": [OURS, OURS],
    "taken over": [TAKEN_OVER, OURS],
    "theirs": [THEIRS, THEIRS],
    "one of theirs": [OURS, THEIRS],
}


@pytest.mark.parametrize(
    ("mode", "crds", "leader", "expected"),
    [
        ("Auto", "absent", None, APPLIED),
        ("Auto", "absent", LEADER, Choice(False, LEFT)),
        ("Auto", "ours", None, APPLIED),
        ("Auto", "ours", LEADER, Choice(False, LEFT)),
        ("Auto", "taken over", None, APPLIED),
        ("Auto", "theirs", None, Choice(False, OF_OTHERS)),
        ("Auto", "theirs", LEADER, Choice(False, OF_OTHERS)),
        ("Auto", "one of theirs", None, Choice(False, OF_OTHERS)),
        ("Always", "absent", None, APPLIED),
        ("Always", "ours", None, APPLIED),
        ("Always", "theirs", None, APPLIED),
        ("Never", "absent", LEADER, Choice(False)),
        ("Never", "ours", None, Choice(False, STAYING)),
        ("Never", "theirs", None, Choice(False)),
    ],
    ids=lambda each: "" if isinstance(each, Choice) else str(each and getattr(each, "name", each)),
)
def test_the_kinds_are_applied(mode: str, crds: str, leader: Renewal | None, expected: Choice) -> None:
    assert choose(ServeV1(mode), CRDS[crds], leader) == expected


@pytest.mark.parametrize("crds", CRDS)
def test_always_is_refused_while_olm_v1_leads(crds: str) -> None:
    with pytest.raises(Refused, match=f"--serve-v1=Always: {RENEWED}: stop the controllers of OLM v1 first"):
        choose(ServeV1.ALWAYS, CRDS[crds], LEADER)
