"""`olm bundle cleanup` while rukpak does not run: it says what it waits for, and ends with its timeout."""

from __future__ import annotations

from olmctl.commands import TIMED_OUT
from olmkit.api.bundledeployments import FINALIZER
from tests.cluster.olmctl.conftest import NO_SUITE, Desk

RESOURCE = "bundledeployments.core.rukpak.io"


def test_without_rukpak_it_says_what_it_waits_for_and_ends_in_time(desk: Desk) -> None:
    name = desk.left_installation("lamp", f"{desk.prefix}-lamp", manager="olm", finalizers=[FINALIZER])
    try:
        status, _, err = desk.olm("bundle", "cleanup", name, "--timeout", "1s", NO_SUITE)
        problem = "rukpak does not run, it has no Lease in namespace no-suite"
        then = f"BundleDeployment {name} is deleted when it runs again (olm suite status)"
        assert f"warning: {problem}: {then}" in err.splitlines()
        assert (status, err.splitlines()[-1]) == (TIMED_OUT, f"{name}: not deleted within 1 seconds: {problem}")
        assert desk.olm("bundle", "cleanup", name, "--timeout", "1s", NO_SUITE)[0] == TIMED_OUT, (
            "again, while it is deleted"
        )
    finally:
        desk.cluster.kubectl("patch", RESOURCE, name, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    status, _, err = desk.olm("bundle", "cleanup", name, "--ignore-not-found", NO_SUITE)
    assert status == 0, err
