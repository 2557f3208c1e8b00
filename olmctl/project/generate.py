"""`olm bundle generate`: the bundle of a project, from its manifests and its base (sdk 2).

Everything is worked out and checked before the first file is written: a refusal changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, Final

from olmctl.authoring.yaml_writer import kubernetes_document
from olmctl.commands import FAILED, WRONG_USAGE, CommandError, warn
from olmctl.project import csv, inputs, metadata, min_kube_version
from olmctl.project.api_types import described
from olmctl.project.collection import SCORECARD, Collection, collect
from olmctl.project.manifests import BadInput, Manifest, WrongUsage, read_manifests
from olmctl.project.output import stale_files, write_files
from olmctl.project.permissions import Permissions, split_permissions
from olmctl.project.pinning import images_of, pinned
from olmctl.project.project_file import Project, read_project
from olmctl.project.upgrade_edge import apply_edge, upgrade_edge
from olmctl.project.written import object_files
from olmctl.questions.operator_state import part, text_at
from olmctl.terminal import clean, clean_lines
from olmctl.terminal_output import say, write_document
from olmctl.validation.csv_rules import csv_faults
from olmctl.validation.finding import ERROR, Finding
from olmctl.validation.loaded_bundle import Document
from olmctl.work_limits import LimitReached, limited
from olmkit.gocompat import documents
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.versions import BadVersion, parse_version, version_hint
from olmkit.sources.access import Access

DEFAULT_OUTPUT: Final = "bundle"
DOCKERFILE: Final = Path("bundle.Dockerfile")
AUTO: Final = "auto"
_BUILDER: Final = f"olm-suite-v{installed_version('olm-suite')}"
_SCORECARD_FILE: Final = f"{metadata.SCORECARD_DIRECTORY}/config.yaml"
_WAYS: Final = (
    "pipe `kustomize build DIR` into this command, name DIR with --input-dir, or let `olm bundle init` write one"
)
_MIN_KUBE_VERSION: Final = "min-kube-version-missing"
"""The rule about a missing minKubeVersion, which this command itself works out."""
_DEFAULT_CHANNELS: Final = "alpha"


@dataclass(frozen=True)
class Flags:
    """The options of the command."""

    package: str
    version: str
    input_dir: str
    deploy_dir: str
    crds_dir: str
    output_dir: str
    kustomize_dir: str
    channels: str
    default_channel: str
    extra_service_accounts: tuple[str, ...]
    manifests: bool
    metadata: bool
    overwrite: bool
    stdout: bool
    quiet: bool
    pin: bool
    apis_dir: str
    catalog: str
    related_images: bool
    min_kube_version: str
    registries_conf: Path | None
    pull_cas_dir: Path | None
    allow_source_cidr: tuple[str, ...]

    @property
    def does_manifests(self) -> bool:
        """True if the manifests are generated: also if neither part is asked for."""
        return self.manifests or not self.metadata

    @property
    def does_metadata(self) -> bool:
        """True if annotations and the Dockerfile are generated."""
        return self.metadata or not self.manifests

    @property
    def directory(self) -> str:
        """The directory of the bundle, as it is written into the Dockerfile."""
        return self.output_dir or DEFAULT_OUTPUT

    @property
    def channel_names(self) -> list[str]:
        """The channels."""
        return [name for each in (self.channels or _DEFAULT_CHANNELS).split(",") if (name := each.strip())]

    def access(self) -> Access:
        """The configuration of requests to registries and other servers."""
        return Access(self.registries_conf, self.pull_cas_dir, tuple(self.allow_source_cidr))


@dataclass
class _Generated:
    """The manifests of a bundle."""

    csv: dict[str, Any]
    objects: dict[str, str]
    """The texts of the other objects, by file name."""
    scorecard: str
    """The configuration of the scorecard; "" if there is none."""


def generate(**given: Any) -> int:
    """Generate the bundle."""
    flags = Flags(**given)
    try:
        with limited("reading the input and making the bundle"):
            project = read_project(flags.package)
            if flags.does_manifests:
                _check(flags)
            made = _manifests(flags, project) if flags.does_manifests else None
        _write(flags, project, made)
    except (BadInput, LimitReached) as error:
        status = WRONG_USAGE if isinstance(error, WrongUsage) else FAILED
        raise CommandError(status, clean_lines(str(error))) from None
    return 0


def _check(flags: Flags) -> None:
    """Refuse options in upstream's words. Raises WrongUsage."""
    _check_values(flags)
    is_legacy = bool(flags.deploy_dir or flags.crds_dir)
    if flags.input_dir and is_legacy:
        sources = "--input-dir or --deploy-dir (and optionally --crds-dir)"
        raise _wrong(f"only one of {sources} may be set if not reading from stdin")
    if (flags.input_dir or is_legacy) and inputs.has_waiting_text():
        raise _wrong("none of --input-dir, --deploy-dir, or --crds-dir may be set if reading from stdin")
    if flags.crds_dir and not flags.deploy_dir:
        raise _wrong("--crds-dir can only be used if --deploy-dir is set")
    if flags.stdout and flags.output_dir:
        raise _wrong("--output-dir cannot be set if writing to stdout")


def _check_values(flags: Flags) -> None:
    """Refuse values of options that are none. Raises WrongUsage."""
    if flags.version:
        try:
            parse_version(flags.version)
        except BadVersion as error:
            text = f"{flags.version} is not a valid semantic version: {error}{version_hint(flags.version)}"
            raise _wrong(text) from None
    if wrong := [each for each in flags.channel_names if each != "".join(each.split())]:
        raise WrongUsage(
            f"--channels: {wrong[0]!r} is no name of a channel: write channels with commas, such as stable,fast"
        )
    if flags.default_channel != "".join(flags.default_channel.split()):
        raise WrongUsage(f"--default-channel: {flags.default_channel!r} is no name of a channel")
    if flags.min_kube_version not in ("", AUTO):
        try:
            parse_version(flags.min_kube_version)
        except BadVersion:
            text = f"{flags.min_kube_version!r} is neither auto nor a version such as 1.25.0"
            raise WrongUsage(f"--min-kube-version: {text}{version_hint(flags.min_kube_version)}") from None


def _wrong(problem: str) -> WrongUsage:
    return WrongUsage(f"invalid command options: {problem}")


def _read(flags: Flags) -> tuple[inputs.Input, list[Manifest] | None]:
    """The manifests, and those of --crds-dir. Raises BadInput."""
    if flags.deploy_dir:
        crds = inputs.read_directory(Path(flags.crds_dir), recursive=False).manifests if flags.crds_dir else None
        return inputs.read_path(Path(flags.deploy_dir)), crds
    if flags.input_dir:
        return inputs.read_path(Path(flags.input_dir)), None
    if inputs.is_piped():
        return inputs.read_stdin(), None
    directory = Path(flags.kustomize_dir)
    if inputs.kustomization_of(directory) is not None:
        return inputs.build(directory), None
    raise WrongUsage(f"there are no manifests: {directory.as_posix()} has no kustomization: {_WAYS}")


def _manifests(flags: Flags, project: Project) -> _Generated:
    found, crds = _read(flags)
    if not found.manifests and not crds:
        place = flags.input_dir or flags.deploy_dir
        text = "has no manifests: a bundle is made of a Deployment, its roles and CustomResourceDefinitions"
        raise WrongUsage(f"{place} {text}") if place else BadInput(f"standard input {text}")
    collection = collect(found.manifests, crds)
    _warn(flags, found.notes)
    _warn(flags, collection.dropped_fields)
    permissions = split_permissions(collection, flags.extra_service_accounts)
    value, notes = _csv(flags, project, collection, permissions)
    _warn(flags, notes)
    _warn(flags, (f"{each.manifest} is not in the bundle: {each.reason}" for each in collection.left_out))
    value = _with_created_at(flags, project, value)
    said = {_MIN_KUBE_VERSION} if min_kube_version.minimum(collection) is not None else set[str]()
    _validate(flags, value, said, _csv_path(flags, project.package))
    scorecard = next((kubernetes_document(each.value) for each in collection.of(SCORECARD)), "")
    return _Generated(value, object_files(collection, permissions), scorecard)


def _csv(
    flags: Flags, project: Project, collection: Collection, permissions: Permissions
) -> tuple[dict[str, Any], list[str]]:
    base = csv.base_of(collection, project.package, _base_file(flags, project.package))
    if flags.catalog:
        base.notes += _add_edge(flags, project.package, base.value)
    base.notes += _add_min_kube_version(flags, collection, base.value["spec"])
    options = csv.Options(
        project.package,
        flags.version,
        _BUILDER,
        project.layout,
        lists_all_images=flags.related_images or flags.pin,
    )
    made = csv.make(base.value, collection, permissions, options)
    owned = made.value["spec"]["customresourcedefinitions"]
    if owned.get("owned"):
        owned["owned"], notes = described(owned["owned"], flags.apis_dir)
        made.notes += notes
    if flags.pin:
        from olmctl.project.remote import digests_of

        made.value = pinned(made.value, digests_of(images_of(made.value), flags.access()))
    return made.value, [*base.notes, *made.notes]


def _base_file(flags: Flags, package: str) -> Manifest | None:
    """The base in the project. Raises BadInput."""
    path = Path(flags.kustomize_dir) / "bases" / f"{package}{csv.CSV_SUFFIX}"
    if not path.is_file():
        return None
    manifests = read_manifests(path.read_bytes(), path.as_posix())
    found = next((each for each in manifests if each.kind == "ClusterServiceVersion"), None)
    if found is None:
        raise BadInput(f"{path.as_posix()}: has no ClusterServiceVersion")
    return found


def _add_edge(flags: Flags, package: str, base: dict[str, Any]) -> list[str]:
    from olmctl.project.remote import package_graph

    version = flags.version or base["spec"]["version"]
    name = f"{package}.v{flags.version}" if flags.version else base["metadata"]["name"]
    graph = package_graph(flags.catalog, package, flags.access())
    edge = upgrade_edge(graph, name, parse_version(version), flags.channel_names, flags.default_channel)
    return [f"--catalog {flags.catalog}: {note}" for note in apply_edge(base["spec"], edge)]


def _add_min_kube_version(flags: Flags, collection: Collection, spec: dict[str, Any]) -> list[str]:
    need = min_kube_version.minimum(collection)
    given = spec.get("minKubeVersion")
    if flags.min_kube_version not in ("", AUTO):
        spec["minKubeVersion"] = flags.min_kube_version
    elif need is None:
        return []
    elif flags.min_kube_version == AUTO:
        spec["minKubeVersion"] = min_kube_version.version_text(need)
    elif not given:
        wanted = min_kube_version.version_text(need)
        return [f"minKubeVersion is not set: {need[1]} needs {wanted} (--min-kube-version auto writes it)"]
    return []


def _with_created_at(flags: Flags, project: Project, value: dict[str, Any]) -> dict[str, Any]:
    """The ClusterServiceVersion with the time at which it has changed last: that of the file, if nothing else differs."""
    path = _csv_path(flags, project.package)
    if not flags.stdout and path.is_file():
        try:
            found = documents.read(path.read_bytes())
        except ParseError:
            found = []
        there = text_at(found[0], "metadata", "annotations", csv.CREATED_AT) if len(found) == 1 else ""
        if there and (same := _created_at(value, there)) == found[0]:
            return same
    return _created_at(value, _now())


def _created_at(value: Mapping[str, Any], time: str) -> dict[str, Any]:
    annotations = {**value["metadata"]["annotations"], csv.CREATED_AT: time}
    return {**value, "metadata": {**value["metadata"], "annotations": annotations}}


def _now() -> str:
    """The time of this run. Raises BadInput."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        moment = datetime.fromtimestamp(int(given), UTC) if given.isdecimal() else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        raise BadInput("SOURCE_DATE_EPOCH: is no time between 1970 and 9999 in seconds since 1970") from None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _csv_path(flags: Flags, package: str) -> Path:
    return Path(flags.directory) / "manifests" / f"{package.lower()}{csv.CSV_SUFFIX}"


def _validate(flags: Flags, value: Mapping[str, Any], said: Set[str], file: Path) -> None:
    """Run the validator of ClusterServiceVersions, and print its warnings, without those of rules whose warning was `said` in
    better words. Raises BadInput for its errors."""
    findings = [*csv_faults(Document(file.as_posix(), kubernetes_document(value).encode(), value))]
    _warn(flags, (_sentence(each) for each in findings if each.level != ERROR and each.rule not in said))
    errors = [_sentence(each) for each in findings if each.level == ERROR]
    if errors:
        raise BadInput("\n".join((*errors, "invalid generated ClusterServiceVersion: nothing is written")))


def _sentence(finding: Finding) -> str:
    """A finding in the words of `operator-sdk generate bundle`, which has neither its field nor its value."""
    detail = finding.message
    for place in (f"Field {finding.field}, Value {finding.value}", f"Value {finding.value}", f"Field {finding.field}"):
        detail = detail.removeprefix(f"Error: {place}: ").removeprefix(f"Warning: {place}: ")
    return f"ClusterServiceVersion validation: [{finding.error_type}] {detail}"


def _write(flags: Flags, project: Project, made: _Generated | None) -> None:
    """Write what has been generated. Raises BadInput, OSError."""
    files: dict[Path, str] = {}
    root = Path(flags.directory)
    earlier: list[Path] = []
    if made is not None and flags.stdout:
        _print_objects(made)
    elif made is not None:
        path = _csv_path(flags, project.package)
        directory = path.parent
        files |= {path: kubernetes_document(made.csv)} | {directory / name: text for name, text in made.objects.items()}
        written = frozenset(each.name for each in files)
        earlier, foreign = stale_files(directory, written, is_generated=_was_generated(directory))
        _warn(flags, (f"{each.as_posix()} is not from this command, and stays in the bundle" for each in foreign))
        if made.scorecard:
            files[root / _SCORECARD_FILE] = made.scorecard
    if flags.does_metadata:
        has_scorecard = bool(made and made.scorecard) or (root / _SCORECARD_FILE).is_file()
        if made is not None and made.scorecard:
            files[root / _SCORECARD_FILE] = made.scorecard
        files |= _metadata_files(flags, project, has_scorecard=has_scorecard)
    changed = write_files(files, root)
    for path in earlier:
        path.unlink()
    _say(flags, (*(f"{each} written" for each in changed), *(f"{each.as_posix()} removed" for each in earlier)))
    if not changed and not earlier and files:
        _say(flags, [f"{flags.directory} is up to date"])


def _print_objects(made: _Generated) -> None:
    for text in (kubernetes_document(made.csv), *made.objects.values()):
        write_document(f"\n---\n{text.strip()}")


def _was_generated(directory: Path) -> bool:
    """Report whether the directory has a ClusterServiceVersion that was generated."""
    for path in directory.glob(f"*{csv.CSV_SUFFIX}") if directory.is_dir() else ():
        try:
            bodies = documents.read(path.read_bytes())
        except (ParseError, OSError):
            continue
        for body in bodies:
            if part(body, "metadata", "annotations", csv.BUILDER_ANNOTATION) is not None:
                return True
    return False


def _metadata_files(flags: Flags, project: Project, *, has_scorecard: bool) -> dict[Path, str]:
    """annotations.yaml and the Dockerfile; nothing if they exist and may not be written. Raises BadInput."""
    path = Path(flags.directory) / "metadata" / "annotations.yaml"
    existing = _annotations(path)
    if existing and not flags.overwrite:
        return {}
    channels = flags.channel_names
    if flags.default_channel and flags.default_channel not in channels:
        _warn(flags, [f"the default channel {flags.default_channel} is not among the channels {','.join(channels)}"])
    before = metadata.channels_of(existing)
    if not flags.channels and before not in ("", _DEFAULT_CHANNELS):
        text = f"the channels {before} of {path.as_posix()} become {_DEFAULT_CHANNELS}, because --channels is not given"
        _warn(flags, [text])
    facts = metadata.Metadata(
        project.package, ",".join(channels), flags.default_channel, _BUILDER, project.layout, has_scorecard
    )
    for key, value in facts.core().items():
        if problem := metadata.label_problem(key, value):
            raise BadInput(f"{key} would be {value!r}: {problem}")
    files = {path: metadata.annotations_file(facts, existing)}
    if flags.overwrite or not DOCKERFILE.is_file():
        docker = DOCKERFILE.read_text(encoding="utf-8", errors="replace") if DOCKERFILE.is_file() else ""
        foreign = metadata.foreign_annotations(existing)
        found = ((key, metadata.label_problem(key, value)) for key, value in foreign.items())
        _warn(flags, (f"{path.as_posix()}: {key!r} is no label of {DOCKERFILE}: {why}" for key, why in found if why))
        files[DOCKERFILE] = metadata.dockerfile(facts, _copied_directory(flags), foreign, docker)
    return files


def _copied_directory(flags: Flags) -> str:
    """The directory of the bundle as COPY names it: relative to the Dockerfile, which is in the current directory."""
    directory, path = flags.directory, Path(flags.directory)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        return path.relative_to(Path.cwd()).as_posix()
    if path.is_absolute() or ".." in path.parts:
        text = f"{DOCKERFILE} cannot copy {directory}, which is outside this directory: `olm bundle build` needs no such file"
        _warn(flags, [text])
    return directory


def _annotations(path: Path) -> str:
    """The text of annotations.yaml; "" if there is none. Raises BadInput for one that cannot be read."""
    if not path.is_file():
        return ""
    data = path.read_bytes()
    try:
        documents.read(data)
    except ParseError as error:
        raise BadInput(f"{path.as_posix()}:{max(error.line, 1)}: is no YAML: {error.text}") from None
    return data.decode("utf-8-sig")


def _warn(flags: Flags, lines: Iterable[str]) -> None:
    for line in () if flags.quiet else lines:
        warn(clean(line))


def _say(flags: Flags, lines: Sequence[str]) -> None:
    if not flags.quiet:
        for line in lines:
            say(line, err=flags.stdout)
