"""`olm bundle scorecard BUNDLE`: run the tests of a bundle: the built-in ones in this process, others as pods on a cluster.

The built-in tests need no cluster. Without one, the others are reported as not run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from olmctl.commands import FAILED, WRONG_USAGE, CommandError, warn
from olmctl.directory_files import check_directory, is_directory_meant
from olmctl.file_replacement import make_own_directory, replace_file
from olmctl.scorecard.bundle_tests import TESTS, load_bundle, run_builtin
from olmctl.scorecard.configuration import (
    BadConfiguration,
    Configuration,
    Stage,
    TestSpec,
    configuration_file,
    read_configuration,
)
from olmctl.scorecard.output import FORMATS
from olmctl.scorecard.pods import FileTooLarge
from olmctl.scorecard.results import Outcome, State, failed
from olmctl.terminal import clean
from olmctl.terminal_output import ProgressLine, say, write_document
from olmctl.validation.file_tree import TooLarge, read_tree
from olmctl.validation.load_faults import LoadFault
from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.work_limits import LimitReached, limited
from olmkit.api.meta import Kind
from olmkit.errors import ApiError, OlmError
from olmkit.gocompat.label_selectors import BadSelector, Selector

if TYPE_CHECKING:
    from olmctl.catalog.images import Unpacked
    from olmctl.scorecard.storage import Packer
    from olmkit.runtime.client import Client

BUILTIN_IMAGE = "quay.io/operator-framework/scorecard-test:v1.42.3"
"""The image that the built-in tests name in a configuration."""
_OLM_TESTS = "olm-"
DEFAULT_OUTPUT = Path("test-output")
"""The directory for the files that tests store, if none is named; operator-sdk's."""
MAX_NAME_BYTES = 200
"""Bytes of the name of a directory that is made of a label: file systems accept 255, and a number may follow."""
_DEPLOYMENTS = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
_TOPS = ("manifests", "metadata", "tests")
"""The directories of a bundle that its tests get."""


@dataclass(frozen=True)
class Request:
    """The options of the command, named as its flags."""

    config: Path | None
    selector: str
    list_only: bool
    output: str
    namespace: str
    service_account: str
    seconds: float
    skip_cleanup: bool
    test_output: Path | None
    storage_image: str
    pod_security: str
    registries_conf: Path | None
    pull_cas_dir: Path | None
    allow_source_cidr: tuple[str, ...]
    connection: dict[str, Any]


def scorecard(bundle: str, **given: Any) -> int:
    """Run the tests of the bundle and print their results."""
    connection = {key: given.pop(key) for key in ("kubeconfig", "context", "impersonate", "system_namespace")}
    request = Request(**given, connection=connection)
    with _directory(bundle, request) as root:
        try:
            tree = read_tree(root)
            with limited("its checks"):
                loaded = load_bundle(tree, bundle, str(root))
        except LoadFault as fault:
            raise CommandError(FAILED, f"{bundle}: {fault}\n{fault.hint}".rstrip()) from None
        except (TooLarge, LimitReached) as error:
            raise CommandError(FAILED, f"{bundle}: {error}") from None
        configured = _configuration(loaded, request)
        chosen = configured.selected(_selector(request.selector))
        if not chosen.tests:
            warn(clean(configured.unmatched(request.selector)))
        if not chosen.tests and request.output == "text":
            say("0 tests selected")  # as operator-sdk, which ends with 0 too
            return 0
        if request.list_only or not chosen.tests:
            write_document(FORMATS[request.output]([Outcome(each) for each in chosen.tests]) + "\n")
            return 0
        return _run(loaded, chosen, request)


def _run(bundle: LoadedBundle, chosen: Configuration, request: Request) -> int:
    """Run the tests, print their results, and write what is wanted. The files that tests store are written in any case."""
    output = request.test_output or (DEFAULT_OUTPUT if _stores_files(chosen) else None)
    with _scratch(output) as scratch:
        outcomes = _outcomes(bundle, chosen, request, scratch)
        write_document(f"{FORMATS[request.output](outcomes)}\n")
        if output is not None:
            _write(outcomes, output, with_results=request.test_output is not None)
    return 0 if all(each.passed for each in outcomes) else FAILED


def _stores_files(chosen: Configuration) -> bool:
    return any(not _is_builtin(each) and (each.mount_path or chosen.mount_path) for each in chosen.tests)


@contextmanager
def _scratch(output: Path | None) -> Iterator[Path]:
    """A directory in the output for files of pods, which is removed; without an output it is not used. Raises CommandError if
    nothing can be written to the output, OSError."""
    if output is None:
        yield Path()
        return
    if output == DEFAULT_OUTPUT and output.is_symlink():  # a checkout may have it
        text = "is a link, which is not followed: remove it, or name a directory with --test-output"
        raise CommandError(FAILED, f"{output} {text}")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        text = "a file is in the place of the directory: name another one"
        raise CommandError(WRONG_USAGE, f"--test-output {output}: {text}") from None
    with TemporaryDirectory(prefix=".storage-", dir=output) as directory:
        yield Path(directory)


def _directory(bundle: str, request: Request) -> AbstractContextManager[Path]:
    """The directory of the bundle, or the files of its image. Raises CommandError, OlmError."""
    if is_directory_meant(bundle):
        check_directory(Path(bundle))
        return nullcontext(Path(bundle))
    return _Pulled(bundle, request)


class _Pulled(AbstractContextManager[Path]):
    """The files of an image, which are removed at the end of the block."""

    def __init__(self, reference: str, request: Request) -> None:
        from olmctl.catalog.images import unpacked

        access = (request.registries_conf, request.pull_cas_dir, request.allow_source_cidr)
        self._reference = reference
        self._opened: AbstractContextManager[Unpacked] = unpacked(reference, *access, only_bundles=True)

    def __enter__(self) -> Path:
        from olmctl.catalog.images import NoDirectory

        try:
            found = self._opened.__enter__()
        except NoDirectory as error:
            raise CommandError(WRONG_USAGE, f"{self._reference}: {error}") from None
        if found.is_catalog:
            self._opened.__exit__(None, None, None)
            raise CommandError(FAILED, f"{self._reference} is the image of a catalog: give that of a bundle")
        return found.root

    def __exit__(self, *error: Any) -> None:
        self._opened.__exit__(*error)


def _configuration(bundle: LoadedBundle, request: Request) -> Configuration:
    """The tests of the configuration: that of --config, else of the bundle, else the built-in tests. Raises CommandError."""
    path: str | Path = request.config or ""
    try:
        if request.config is not None:
            data = request.config.read_bytes()
        else:
            path = configuration_file(bundle.annotations)
            data = bundle.files.get(path, b"")
        return read_configuration(data) if data or request.config else _builtin_configuration()
    except BadConfiguration as error:
        shown = path if request.config else f"{bundle.origin.rstrip('/')}/{path}" if path else bundle.origin
        raise CommandError(FAILED, f"{shown}: {error}") from None
    except FileNotFoundError:
        raise CommandError(WRONG_USAGE, f"--config {request.config}: there is no such file") from None


def _selector(text: str) -> Selector:
    try:
        return Selector.parse(text)
    except BadSelector as error:
        raise CommandError(WRONG_USAGE, f"--selector: {error}") from None


def _builtin_configuration() -> Configuration:
    """The built-in tests, as operator-sdk writes them into the configuration of a new bundle."""
    tests = tuple(
        TestSpec(
            BUILTIN_IMAGE,
            ("scorecard-test", name),
            {"suite": "olm" if name.startswith(_OLM_TESTS) else "basic", "test": f"{name}-test"},
        )
        for name in TESTS
    )
    return Configuration((Stage(tests, is_parallel=True),))


def _outcomes(bundle: LoadedBundle, chosen: Configuration, request: Request, scratch: Path) -> list[Outcome]:
    if all(_is_builtin(each) for each in chosen.tests):
        return [_own(each, bundle) for each in chosen.tests]
    return asyncio.run(_on_cluster(bundle, chosen, request, scratch))


def _is_builtin(spec: TestSpec) -> bool:
    """True for a test of operator-sdk's image that this process has, wherever the image is mirrored to."""
    name = spec.image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return spec.builtin in TESTS and name == "scorecard-test"


def _own(spec: TestSpec, bundle: LoadedBundle) -> Outcome:
    """The outcome of a built-in test."""
    begin = time.perf_counter()
    try:
        with limited("its checks"):
            result = run_builtin(spec.builtin, bundle)
    except LimitReached as error:
        return failed(spec, str(error), state=State.ERROR, seconds=time.perf_counter() - begin)
    return Outcome(spec, (result,), time.perf_counter() - begin)


async def _on_cluster(bundle: LoadedBundle, chosen: Configuration, request: Request, scratch: Path) -> list[Outcome]:
    """All outcomes, stage after stage; tests that need a cluster are errors if there is none."""
    from olmctl.operators.session import client_of
    from olmctl.scorecard.cluster import PodRunner, StorageCopy, longest_run, new_run

    connection = {key: value for key, value in request.connection.items() if key != "system_namespace"}
    async with client_of(connection) as client:
        try:
            await client.version()
        except (ApiError, OlmError) as error:
            return _without_cluster(bundle, chosen, str(error))
        run = new_run(
            request.namespace,
            chosen.service_account or request.service_account,
            restricted=request.pod_security == "restricted",
            longest=0
            if request.skip_cleanup
            else longest_run(chosen.stages, request.seconds, stores_files=_stores_files(chosen)),
        )
        storage = None
        if _stores_files(chosen):
            storage = StorageCopy(await _packer(client, request), scratch, chosen.mount_path)
        line = ProgressLine()
        runner = PodRunner(client, run, _files(bundle), request.seconds, request.skip_cleanup, line.show, storage)
        try:
            async with runner:
                return [
                    outcome
                    for stage in chosen.stages
                    for outcome in await runner.outcomes(
                        stage, lambda spec: _own(spec, bundle) if _is_builtin(spec) else None
                    )
                ]
        except FileTooLarge as error:
            raise CommandError(FAILED, f"{bundle.origin}: {error}") from None
        finally:
            line.end()
            if request.skip_cleanup:
                say(f"kept in namespace {run.namespace}: pods and ConfigMaps {run.name}-*", err=True)


async def _packer(client: Client, request: Request) -> Packer:
    """The image that packs the files which tests store: the one that is named, else that of the suite. Raises CommandError."""
    from olmctl.questions.session import Session
    from olmctl.scorecard.storage import Packer
    from olmctl.suite.manifests import image_of
    from olmkit.tls.service import RUKPAK_SERVICE

    if request.storage_image:
        return Packer(request.storage_image)
    name, session = (
        RUKPAK_SERVICE.labels["app.kubernetes.io/name"],
        Session(client, request.connection["system_namespace"]),
    )
    try:
        namespace = await session.system_namespace()
        found = image_of(await client.get(_DEPLOYMENTS, name, namespace))
        why = f"Deployment {namespace}/{name} has no container of its name"
    except ApiError as error:
        found, why = "", error.message
    if not found:
        text = (
            "a test stores files, and an image is needed that packs them: name one with sh and tar with --storage-image"
        )
        raise CommandError(FAILED, f"{text} (that of the suite cannot be used: {why})")
    return Packer(found, is_suite=True)


def _without_cluster(bundle: LoadedBundle, chosen: Configuration, why: str) -> list[Outcome]:
    """The outcomes of the built-in tests, and an error for each other test."""
    text = f"it was not run, because it needs a cluster: {why}"
    return [_own(each, bundle) if _is_builtin(each) else failed(each, text, state=State.ERROR) for each in chosen.tests]


def _files(bundle: LoadedBundle) -> dict[str, bytes]:
    """The files that tests get: those of the directories of a bundle."""
    tops = {*_TOPS, bundle.manifests.partition("/")[0], bundle.root.partition("/")[0]}
    return {
        path: data
        for path, data in bundle.files.items()
        if "/" in path and path.partition("/")[0] in tops and not any(part.startswith(".") for part in path.split("/"))
    }


def _write(outcomes: Sequence[Outcome], directory: Path, *, with_results: bool) -> None:
    """Write the files that each test has stored, its results and its log to <directory>/<suite>/<test>. A link in the way is
    replaced."""
    for outcome, (suite, test) in zip(outcomes, places([each.spec for each in outcomes]), strict=True):
        place = directory / suite / test
        if outcome.files is None and not with_results:
            continue
        directory.mkdir(parents=True, exist_ok=True)
        make_own_directory(place.parent)
        make_own_directory(place)
        if outcome.files is not None:
            from olmctl.scorecard.storage import move_files

            move_files(outcome.files, place)
        if with_results:
            replace_file(place / "results.json", f"{FORMATS['json']([outcome])}\n".encode(errors="replace"))
            log = "".join(f"{each.log}\n" for each in outcome.results if each.log)
            replace_file(place / "log.txt", log.encode(errors="replace"))


def places(tests: Sequence[TestSpec]) -> list[tuple[str, str]]:
    """The directories of each test, by its labels suite and test. Tests with the same ones get a number."""
    found: list[tuple[str, str]] = []
    for number, each in enumerate(tests, start=1):
        suite, test = _part(each.labels.get("suite", "")), _part(each.labels.get("test") or f"test-{number}")
        numbered = (f"{test}-{again}" for again in count(2))
        found.append((suite, next(name for name in chain((test,), numbered) if (suite, name) not in found)))
    return found


def _part(name: str) -> str:
    """A label as the name of a directory: cut, because a configuration has labels of any length."""
    kept = "".join(each if each.isalnum() or each in "._-" else "_" for each in name)
    return kept.lstrip(".").encode()[:MAX_NAME_BYTES].decode(errors="ignore") or "other"
