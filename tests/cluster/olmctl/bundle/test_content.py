"""`olm bundle content`: the files of a Bundle, over a forwarded port with the caller's token."""

from __future__ import annotations

from olmctl.bundle.archive import pack
from tests.cluster.olmctl.bundle.conftest import Workshop


async def test_the_files_of_a_bundle_are_printed_and_written(workshop: Workshop) -> None:
    archive = pack(workshop.directory)
    await workshop.uploads.create(archive.digest)
    await workshop.uploads.says("waiting for bundle to be uploaded")
    status, _, err = await workshop.olm("content", workshop.name)
    text = f"Bundle {workshop.name} is not unpacked: waiting for bundle to be uploaded: `olm bundle upload {workshop.name} "
    assert (status, text in err, archive.digest in err) == (1, True, True)
    assert (await workshop.olm("upload", workshop.name, str(workshop.directory)))[0] == 0
    await workshop.uploads.unpacked()
    text = (workshop.directory / "manifests" / "all.yaml").read_text()
    expected = (0, f"---\n# manifests/all.yaml\n{text}", "")
    assert await workshop.olm("content", workshop.name) == expected
    target = workshop.directory.parent / "written"
    expected = (0, f"1 file written to {target}\n", "")
    assert await workshop.olm("content", workshop.name, "--output", str(target)) == expected
    assert pack(target) == archive
    status, _, err = await workshop.olm("content", workshop.name, "-o", str(target))
    assert (status, err) == (1, f"{target} exists and is not empty: name a directory that does not exist\n")
    status, _, err = await workshop.olm("content", f"{workshop.name}-none")
    assert (status, "not found" in err) == (3, True)
