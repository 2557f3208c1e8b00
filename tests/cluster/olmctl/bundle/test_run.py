"""`olm bundle run`: from a directory to an installed bundle, and on from there at each save."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import yaml

from olmkit.api import bundledeployments
from olmkit.errors import NotFound
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from tests.cluster.olmctl.bundle.conftest import Workshop
from tests.cluster.rukpak.harness import CONFIG_MAPS, config_map, data, namespace

RESOURCE = "bundledeployments.core.rukpak.io"
INTERRUPTIBLE = """
import signal, sys
from olmctl.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background processes with SIGINT ignored
sys.exit(main(sys.argv[1:]))
"""


async def installed(workshop: Workshop) -> str:
    """The version that is installed."""
    return str(data(await workshop.place.at.find(CONFIG_MAPS, "log", workshop.name)).get("v", ""))


async def test_a_directory_is_installed_and_changed(workshop: Workshop) -> None:
    name, directory = workshop.name, str(workshop.directory)
    removed = workshop.directory / "manifests" / "removed.yaml"
    removed.write_text(yaml.safe_dump(config_map("removed", name)))
    status, out, err = await workshop.olm("run", directory)
    assert status == 0, err
    first, sent, ready, summary = out.splitlines()
    assert (first, sent.startswith("successfully uploaded bundle content for ")) == (f"{RESOURCE}/{name} created", True)
    assert ready.startswith(f"{RESOURCE}/{name} installed: ")
    assert summary == f"the bundle is in namespace {name}-system: 2 ConfigMaps, 1 Namespace"
    assert await installed(workshop) == "1"
    workshop.save("2")
    removed.unlink()
    status, out, err = await workshop.olm("run", directory)
    assert (status, out.splitlines()[0]) == (0, f"{RESOURCE}/{name} configured"), err
    assert out.splitlines()[-1].endswith(": 1 ConfigMap, 1 Namespace"), "what is deleted right after is not counted"
    assert "still to be deleted" not in err
    assert await installed(workshop) == "2"
    status, out, _ = await workshop.olm("run", directory)
    unchanged, up_to_date, *_ = out.splitlines()
    assert (status, unchanged) == (0, f"{RESOURCE}/{name} unchanged")
    assert up_to_date.startswith('bundle "')
    assert up_to_date.endswith('" is already up-to-date')


async def test_a_bundle_that_cannot_be_unpacked_is_explained(workshop: Workshop) -> None:
    (workshop.directory / "manifests" / "all.yaml").write_text("kind: [")
    status, out, err = await workshop.olm("run", str(workshop.directory))
    assert (status, "successfully uploaded bundle content" in out) == (1, True)
    assert f"{workshop.name}: Failed to unpack the {workshop.name}-" in err
    ways = f"(olm why {workshop.name} explains it, olm bundle cleanup {workshop.name} removes the BundleDeployment)"
    assert err.splitlines()[-1].endswith(ways)
    status, out, _ = await asyncio.to_thread(workshop.desk.olm, "why", workshop.name)
    assert (status, "Failed to unpack" in out) == (0, True)
    workshop.save("2")  # the next run takes over
    assert (await workshop.olm("run", str(workshop.directory)))[0] == 0
    assert await installed(workshop) == "2"
    await workshop.place.at.remove()


async def test_a_directory_without_a_bundle_changes_nothing(workshop: Workshop) -> None:
    (workshop.directory / "manifests" / "all.yaml").unlink()
    status, out, err = await workshop.olm("run", str(workshop.directory))
    assert (status, out, 'has no "manifests" directory with files in it' in err) == (2, "", True)
    try:
        await workshop.place.at.client.get(bundledeployments.KIND, workshop.name)
    except NotFound:
        return
    raise AssertionError("a BundleDeployment was created")


async def test_namespaces_and_an_account_that_do_not_exist_end_the_command_at_once(workshop: Workshop) -> None:
    name, directory = workshop.name, str(workshop.directory)
    stray = workshop.directory / "manifests" / "stray.yaml"
    stray.write_text(yaml.safe_dump(config_map("stray", f"{name}-absent")))
    account = f"{name}-other/installer"
    status, out, err = await workshop.olm("run", directory, "--service-account", account)
    assert (status, out) == (5, "")
    assert [line.strip() for line in err.splitlines()[1:]] == [
        f"namespace {name}-absent does not exist: create it first (kubectl create namespace {name}-absent)",
        f"ServiceAccount {account} does not exist: create it with the permissions that the bundle needs, or name another one",
        "--force installs it nevertheless",
    ]
    stray.unlink()
    status, _, err = await workshop.olm("run", directory)
    assert status == 0, err
    await workshop.place.at.remove()


async def _lines(output: asyncio.StreamReader, errors: Awaitable[bytes], start: str) -> list[str]:
    """The lines of the command up to one that begins so."""
    lines: list[str] = []
    async with asyncio.timeout(60):
        while not lines or not lines[-1].startswith(start):
            line = (await output.readline()).decode()
            assert line, (lines, await errors)
            lines.append(line.rstrip())
    return lines


@asynccontextmanager
async def running(
    workshop: Workshop, *options: str, directory: Path | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """`olm bundle run` of a directory, which has ended when the block ends."""
    kubeconfig = f"--kubeconfig={workshop.desk.cluster.kubeconfig}"
    given = str(directory or workshop.directory)
    command = [sys.executable, "-c", INTERRUPTIBLE, "bundle", "run", given, *options, kubeconfig]
    process = await asyncio.create_subprocess_exec(
        *command,
        f"--system-namespace={workshop.place.system}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_each_save_is_installed_until_the_command_is_interrupted(workshop: Workshop) -> None:
    async with running(workshop, "--watch") as process:
        await _save_and_interrupt(workshop, process)


async def _save_and_interrupt(workshop: Workshop, process: asyncio.subprocess.Process) -> None:
    name = workshop.name
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())

    until = partial(_lines, process.stdout, errors)
    await until("watching ")
    assert await installed(workshop) == "1"
    workshop.save("2")
    changed, configured, *_ = await until(f"{RESOURCE}/{name} installed")
    assert (changed, configured) == ("~ manifests/all.yaml", f"{RESOURCE}/{name} configured")
    assert await installed(workshop) == "2"
    more = workshop.directory / "manifests" / "more.yaml"
    await until("watching ")
    more.write_text("kind: [")
    assert len(await until("watching ")) == 1, "it is not sent, and the watch continues"
    more.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: No_Name}}")
    assert (await until("watching "))[0] == "+ manifests/more.yaml"
    more.write_text("{apiVersion: example.com/v1, kind: Foo, metadata: {name: waits-for-its-kind}}")
    assert (await until("successfully uploaded"))[0] == "~ manifests/more.yaml"
    more.unlink()  # the next save does not wait
    assert (await until(f"{RESOURCE}/{name} installed"))[0] == "- manifests/more.yaml"
    process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(process.wait(), 30) == 130
    assert b'error parsing objects in "more.yaml": ' in await errors
    assert b"Failed to unpack" not in await errors
    assert f"(olm why {name} explains it, the next save is tried)".encode() in await errors
    stays = f"interrupted: what is installed stays (olm bundle cleanup {name} removes it)"
    assert (await errors).decode().splitlines()[-1] == stays
    assert b"Traceback" not in await errors


async def test_a_wait_that_is_ended_says_what_stays(workshop: Workshop) -> None:
    name = workshop.name
    waits = "{apiVersion: example.com/v1, kind: Foo, metadata: {name: waits-for-its-kind}}"
    (workshop.directory / "manifests" / "more.yaml").write_text(waits)
    async with running(workshop, "--force") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.create_task(process.stderr.read())
        await _lines(process.stdout, errors, "successfully uploaded")
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 130
        ways = f"(olm why {name} explains it, olm bundle cleanup {name} removes the BundleDeployment)"
        text = f"interrupted: BundleDeployment {name} stays, and the cluster continues to install it {ways}"
        assert (await errors).decode().splitlines()[-1] == text
    await workshop.place.at.remove()


async def run_at_once(workshop: Workshop, *runs: tuple[Path, str]) -> list[tuple[int, str]]:
    """Exit status and stderr of runs of these directories under these names."""

    async def one(directory: Path, name: str) -> tuple[int, str]:
        async with running(workshop, f"--name={name}", "--timeout=20s", directory=directory) as process:
            _, errors = await process.communicate()
            assert process.returncode is not None
            return process.returncode, errors.decode()

    return await asyncio.gather(*(one(*each) for each in runs))


async def test_of_two_runs_at_once_each_says_truly_what_became_of_its_bundle(workshop: Workshop) -> None:
    name, other = workshop.name, workshop.directory.parent / "other"
    shutil.copytree(workshop.directory, other)
    workshop.save("2")
    directories = {"2": workshop.directory, "1": other}
    ended = await run_at_once(workshop, *((each, name) for each in directories.values()))
    versions = dict(zip(directories, ended, strict=True))
    assert versions[await installed(workshop)][0] == 0, ended
    for status, errors in ended:
        assert status == 0 or f"{name} was changed by somebody else while waiting: its bundle is sha256:" in errors, (
            ended
        )
    assert "Traceback" not in str(ended)


@pytest.mark.crash
async def test_of_two_runs_at_once_under_two_names_one_has_the_objects(workshop: Workshop) -> None:
    name = workshop.name
    twice = [(workshop.directory, f"{name}-{each}") for each in "ab"]
    ended = await run_at_once(workshop, *twice)
    assert sorted(status for status, _ in ended) in ([0, 1], [0, 4]), ended
    (refused,) = (errors for status, errors in ended if status)
    assert f"BundleDeployment {name}-" in refused, "it names the one that has the objects"
    for _, each in twice:
        await workshop.place.at.remove(each)


async def test_the_deployment_of_an_operator_is_left_alone(workshop: Workshop) -> None:
    owner = workshop.desk.operator("ship")
    workshop.desk.bundle_deployment(owner)
    arguments = ("run", str(workshop.directory), f"--name={owner}")
    expected = f"BundleDeployment {owner} belongs to Operator {owner}: choose another name with --name\n"
    assert await workshop.olm(*arguments) == (5, "", expected)


async def test_an_object_that_exists_is_taken_over_on_request(workshop: Workshop) -> None:
    name, at = workshop.name, workshop.place.at
    await at.client.create(NAMESPACES, namespace(name))
    await at.client.create(CONFIG_MAPS, config_map("log", name, v="0"))
    status, _, err = await workshop.olm("run", str(workshop.directory))
    assert (status, err.splitlines()[-1].split(", which")[0]) == (
        1,
        "if you want that, run the command again with --adoption-policy IfUnowned",
    )
    status, out, err = await workshop.olm("run", str(workshop.directory), "--adoption-policy", "IfUnowned")
    assert (status, out.splitlines()[0]) == (0, f"{RESOURCE}/{name} configured"), err
    assert await installed(workshop) == "1"
    workshop.save("2")
    options = ("--crd-policy", "Enforce", "--ignore-crd-rule", "enum-added")
    assert (await workshop.olm("upgrade", str(workshop.directory), "--name", name, *options))[0] == 0
    deployment = await at.client.get(bundledeployments.KIND, name)
    assert deployment["spec"]["adoptionPolicy"] == "IfUnowned"
    assert deployment["spec"]["crdUpgradeSafety"] == {"policy": "Enforce", "ignoredRules": ["enum-added"]}
    status, out, err = await workshop.olm("cleanup", name, "--timeout", "30s")
    assert status == 0, err
    assert f"  ConfigMap {name}/log will stay: it was there before, and was taken over" in err.splitlines()
    left = await at.client.get(CONFIG_MAPS, "log", name)
    assert (left["data"], left["metadata"].get("labels"), left["metadata"].get("annotations")) == (
        {"v": "2"},
        None,
        None,
    )


async def test_a_finalizer_that_nobody_removes(workshop: Workshop) -> None:
    name, at = workshop.name, workshop.place.at
    assert (await workshop.olm("run", str(workshop.directory)))[0] == 0
    hold = {"metadata": {"finalizers": ["example.com/hold"]}}
    await at.client.patch(CONFIG_MAPS, "log", hold, name)
    status, _, err = await workshop.olm("cleanup", name, "--yes", "--timeout", "1s")
    assert (status, f"{name}: not deleted within 1 seconds: " in err) == (4, True)
    assert "Next:        it is being deleted\n" in (await asyncio.to_thread(workshop.desk.olm, "why", name))[1]
    await at.client.patch(CONFIG_MAPS, "log", {"metadata": {"finalizers": None}}, name)
    await at.remove()
