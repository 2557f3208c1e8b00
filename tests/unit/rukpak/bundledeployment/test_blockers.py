"""What cannot be undone about an upgrade. What stands against one is tested with decisions and reports."""

from dataclasses import replace

from rukpak.bundledeployment.blockers import irreversible
from rukpak.bundledeployment.world import MissingContent
from tests.unit.rukpak.bundledeployment.worlds import DEFINITION, crd, rendered, upgrading


def test_a_crd_of_others_moves_no_storage_version_of_ours() -> None:
    seen = upgrading(rendered(digest="v2", storage="v2"))
    assert irreversible(replace(seen, crds={DEFINITION.name: crd(owner_uid="")})) == ""
    assert irreversible(replace(seen, content=MissingContent())) == ""
