"""`olm bundle upload`: by the API server's proxy, and by a forwarded port with the caller's token."""

from __future__ import annotations

from olmctl.bundle.archive import pack
from tests.cluster.olmctl.bundle.conftest import Workshop


async def test_a_bundle_that_names_the_digest(workshop: Workshop) -> None:
    name, archive = workshop.name, pack(workshop.directory)
    await workshop.uploads.create(archive.digest)
    uploading = f"uploading {archive}\n"
    expected = (0, f'successfully uploaded bundle content for "{name}"\n', uploading)
    assert await workshop.olm("upload", name, str(workshop.directory)) == expected
    await workshop.uploads.unpacked()
    expected = (0, f'bundle "{name}" is already up-to-date\n', uploading)
    assert await workshop.olm("upload", name, str(workshop.directory)) == expected
    workshop.save("2")
    status, out, err = await workshop.olm("upload", name, str(workshop.directory))
    assert (status, out) == (5, "")
    assert err.startswith(f"Bundle {name} takes the archive {archive.digest}, and this one is sha256:")


async def test_a_bundle_of_any_digest_takes_the_token_of_the_caller(workshop: Workshop) -> None:
    name = workshop.name
    await workshop.uploads.create()
    status, out, err = await workshop.olm("upload", name, str(workshop.directory))
    assert (status, out) == (0, f'successfully uploaded bundle content for "{name}"\n'), err
    await workshop.uploads.unpacked()
    workshop.save("2")
    status, out, err = await workshop.olm("upload", name, str(workshop.directory))
    assert (status, out) == (5, "")
    assert "bundle has already been unpacked, cannot change content of existing bundle" in err
