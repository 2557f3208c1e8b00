"""`olm bundle permissions IMAGE` without a cluster: what is said of an image that cannot be pulled."""

from __future__ import annotations

import pytest

from olmctl.bundle.permissions import permissions
from olmctl.commands import CommandError


def test_an_image_that_cannot_be_reached_leads_to_the_status() -> None:
    options = {"registries_conf": None, "pull_cas_dir": None, "allow_source_cidr": ("127.0.0.0/8",)}
    with pytest.raises(CommandError) as raised:
        permissions("127.0.0.1:1/ships/boat:v1", None, None, "yaml", exists=False, **options)
    problem, _, hint = str(raised.value).partition("; ")
    assert "127.0.0.1:1" in problem
    assert hint == (
        "if a BundleDeployment NAME has it, `olm bundle permissions NAME` prints the rules that its account lacks, from "
        "status.missingPermissions"
    )
