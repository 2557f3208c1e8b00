"""The pages of docs/ agree with the code: every condition and reason is named, links and make targets lead somewhere."""

import ast
import re
import subprocess
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from catalogd.__main__ import add_flags as catalog_flags
from catalogd.bundle_summaries.summary_task import SUMMARIZE
from catalogd.http.compression_job import COMPRESS
from catalogd.http.routes import ROUTES
from catalogd.ingest.load_task import LOAD
from console.setup import make_parser as console_parser
from olmkit.api import bundledeployments, bundles, catalogs, operators, packages
from olmkit.api.content import Phase
from olmkit.api.meta import Resource
from olmkit.jobs.job import JobReason
from olmkit.jobs.metrics import Outcome
from olmkit.runtime.manager import make_parser
from operator_controller.__main__ import add_flags as operator_flags
from operator_controller.resolution.solve_request import SOLVE
from rukpak.__main__ import add_flags as bundle_flags
from rukpak.bundle.unpack_request import UNPACK
from tests import pages

REPOSITORY = pages.REPOSITORY
PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("config/**/*.md")])

_LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
_MAKE = re.compile(r"\bmake ([a-z][a-z0-9-]*)\b")
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


@pytest.mark.parametrize(
    ("page", "enums"),
    [
        ("catalog.md", (catalogs.ConditionType, catalogs.Reason, Phase)),
        ("operator.md", (operators.ConditionType, operators.Reason)),
        ("bundle.md", (bundles.ConditionType, bundles.Reason, Phase)),
        ("bundledeployment.md", (bundledeployments.ConditionType, bundledeployments.Reason)),
    ],
)
def test_the_page_of_a_kind_names_its_conditions_and_reasons(page: str, enums: tuple[type[StrEnum], ...]) -> None:
    text = (REPOSITORY / "docs" / page).read_text()
    missing = [member.value for enum in enums for member in enum if f"`{member.value}`" not in text]
    assert missing == []


@pytest.mark.parametrize(
    ("page", "resource"),
    [
        ("catalog.md", catalogs.Catalog),
        ("package.md", packages.Package),
        ("operator.md", operators.Operator),
        ("bundle.md", bundles.Bundle),
        ("bundledeployment.md", bundledeployments.BundleDeployment),
    ],
)
def test_the_page_of_a_kind_names_the_fields_of_its_spec_and_status(page: str, resource: type[Resource]) -> None:
    text = (REPOSITORY / "docs" / page).read_text()
    for part in ("spec", "status"):
        model = resource.model_fields[part].annotation
        assert model is not None
        names = [field.alias or name for name, field in model.model_fields.items()]
        shared = {"observedGeneration", "conditions"}
        missing = [name for name in names if name not in shared and not re.search(rf"\b{name}\b", text)]
        assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_links_and_make_targets_of_a_page_exist(page: Path) -> None:
    text = page.read_text()
    for target in _LINK.findall(_CODE.sub("", text)):
        assert (page.parent / target).exists(), target
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    named = {target for code in _CODE.findall(text) for target in _MAKE.findall(code)}
    assert named <= targets


BLOCKS = [block for page in pages.PAGES for block in pages.blocks(page)]
_PATH_OF_TREE = re.compile(r"^( *)([\w.-]+)/?", re.MULTILINE)
_MODULE = re.compile(r"\bpython -m ([\w.]+)")


def test_every_block_of_every_page_says_what_it_is() -> None:
    assert [f"{block.place} {block.language} {block.marker}" for block in BLOCKS if not block.has_fate] == []


def test_output_stands_behind_the_commands_that_print_it() -> None:
    assert [place for page in pages.PAGES for place in pages.strays(page)] == []


def test_the_readme_has_commands_of_the_quickstart_in_their_order() -> None:
    """So tests/e2e/test_docs.py runs those of the quickstart alone."""
    readme, quickstart = (list(pages.steps(REPOSITORY / page)) for page in ("README.md", "docs/quickstart.md"))
    rest = iter([line for step in quickstart for line in step.commands.text.splitlines()])
    assert [line for step in readme for line in step.commands.text.splitlines() if line not in rest] == []
    assert any(step.commands.text.startswith("olm suite install") for step in readme)
    assert not any(step.shown or step.commands.status for step in readme), "the output of this page is not compared"


def test_the_blocks_that_are_not_run_are_these() -> None:
    """Each needs what no test has: a catalog, a builder of images and a registry of one's own, another cluster, a server on the
    internet, helm, an object that does not go away, or this very test run."""
    left = [
        (block.page, block.text.split("\n")[0])
        for block in BLOCKS
        if (block.language, block.marker) == ("sh", pages.NO_RUN)
    ]
    assert left == [
        ("README.md", "make demo"),
        ("README.md", "make test"),
        ("docs/authors.md", "olm bundle run bundle --watch"),
        ("docs/bundle.md", "kubectl create token uploader > token"),
        (
            "docs/bundle.md",
            "kubectl create clusterrolebinding bundle-readers --clusterrole=olm-suite-bundle-reader --group=platform-team",
        ),
        ("docs/bundledeployment.md", "kubectl annotate bundledeployment message-board core.rukpak.io/abandon=true"),
        (
            "docs/bundledeployment.md",
            'kubectl annotate bundledeployment message-board core.rukpak.io/deletion-hold="party-operator needs it"',
        ),
        ("docs/catalog-authoring.md", "buildah build -f my-catalog.Dockerfile -t quay.io/me/my-catalog:latest ."),
        (
            "docs/catalog-authoring.md",
            "image=$(olm bundle push config/samples/bundles/hello-operator/0.1.0 quay.io/team/hello-operator-bundle:v0.1.0)",
        ),
        (
            "docs/catalog-authoring.md",
            "olm catalog add quay.io/team/hello-operator-bundle:v0.2.0 --catalog my-catalog --push quay.io/team/catalog:latest",
        ),
        (
            "docs/catalog-authoring.md",
            "olm catalog render-template template.yaml -o yaml --migrate-level bundle-object-to-csv-metadata > "
            "catalog/hello-operator/catalog.yaml",
        ),
        ("docs/catalog.md", "ssh-keygen -t ed25519 -N '' -f deploy-key"),
        ("docs/catalog.md", "kubectl get packagemanifests -n default --selector catalog=operatorhubio"),
        (
            "docs/catalogd-http.md",
            "curl -sS --retry 10 \"$CATALOG/api/v1/bundles/hello-operator.v1.2.0/summary\" | jq '.image, (.files | keys)'",
        ),
        ("docs/cli.md", "olm show cert-manager --permissions --version 1.16.5"),
        ("docs/cli.md", "olm exclude cert-manager 1.16.5"),
        ("docs/cli.md", "olm diff snapscheduler 3.5.0"),
        ("docs/cli.md", "olm migrate v0 -o yaml > migrated.yaml"),
        ("docs/cli.md", "pip install 'olm-suite[console]'"),
        (
            "docs/cli.md",
            "olm bundle run config/samples/bundles/message-board/1.0.0 --name message-board --watch",
        ),
        (
            "docs/cli.md",
            "olm resolve --catalog catalog/ --installed cert-manager=1.16.5 --kube-version 1.34 party-operator "
            'greeter@">=1.0.0":beta',
        ),
        (
            "docs/crd-upgrades.md",
            "olm upgrade snapscheduler --crd-policy Enforce --ignore-crd-rule maximum-tightened "
            "--ignore-crd-rule default-added",
        ),
        ("docs/from-olm-v0.md", "kubectl label crd snapshotschedules.snapscheduler.backube olm.managed-"),
        ("docs/from-olm-v1.md", "olm migrate v1"),
        ("docs/from-olm-v1.md", "olm migrate v1 --all --stop-controllers --hold"),
        ("docs/from-olm-v1.md", "olm migrate v1 --all --stop-controllers"),
        ("docs/install.md", "make image"),
        ("docs/install.md", "docker build --build-arg VERSION=0.1.0 -t registry.example.com/olm-suite:v0.1.0 ."),
        ("docs/install.md", "python -m release --image registry.example.com/olm-suite:v0.1.0"),
        ("docs/install.md", "make demo"),
        (
            "docs/install.md",
            "helm upgrade olm-suite build/release/olm-suite-0.1.0.tgz --namespace olm-suite-system --reuse-values \\",
        ),
        (
            "docs/install.md",
            'curl -s --cacert ca.crt -H "Authorization: Bearer $TOKEN" https://localhost:8443/catalogs/community/all.json',
        ),
        ("docs/install.md", "helm uninstall olm-suite --namespace olm-suite-system"),
        ("docs/operations.md", "kubectl label namespace monitoring metrics=enabled"),
        (
            "docs/operator-conditions.md",
            "kubectl patch operatorcondition message-board.v1.0.0 -n message-board-system --type=merge \\",
        ),
        (
            "docs/operator.md",
            "kubectl create clusterrolebinding traces --clusterrole=olm-suite-resolution-reader --group=platform-team",
        ),
        (
            "docs/operator.md",
            "kubectl annotate bundledeployments.core.rukpak.io NAME operators.operatorframework.io/adopt=true",
        ),
        ("docs/quickstart.md", "docker build --build-arg VERSION=0.1.0 -t olm-suite:v0.1.0 ."),
        ("docs/quickstart.md", "skopeo login ghcr.io"),
        ("docs/signatures.md", "cosign generate-key-pair"),
        ("docs/tilt.md", "make setup"),
        (
            "docs/troubleshooting/deletion.md",
            'kubectl patch crd NAME --type=merge --patch=\'{"spec":{"conversion":{"strategy":"None","webhook":null}}}\'',
        ),
        ("docs/troubleshooting.md", 'kubectl logs -n olm-suite-system deployment/rukpak | grep "\\"$NAME\\""'),
        ("config/samples/README.md", "source .venv/bin/activate                               # made by `make setup`"),
    ]


_SCENARIO = re.compile(r"^\| ([a-z-]+) \| (.+?) \| (.+?) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)`")


def test_the_scenarios_of_olm_v1_have_tests_of_their_names_or_a_reason() -> None:
    _, table = (REPOSITORY / "docs" / "v1.md").read_text().split("\n## Scenarios of OLM v1\n")
    found = [each for each in _SCENARIO.findall(table) if each[0] != "feature"]
    assert len({title for _, title, _ in found}) == len(found) == 64
    for _, title, text in found:
        for path in _TEST.findall(text):
            name = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
            is_same = f"`{path}`" == text
            assert not is_same or f"def test_{name}(" in (REPOSITORY / path).read_text(), f"{path} has no test {name}"
            assert (REPOSITORY / path).exists(), path


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "sh"], ids=lambda block: block.place)
def test_commands_can_be_parsed_and_what_they_start_is_there(block: pages.Block) -> None:
    done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [module for module in _MODULE.findall(block.text) if find_spec(module) is None] == []


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.language == "yaml"], ids=lambda block: block.place
)
def test_yaml_can_be_parsed(block: pages.Block) -> None:
    assert all(yaml.safe_load_all(block.text))


def test_the_tree_lists_all_errors() -> None:
    (tree,) = [block for block in BLOCKS if block.language == "tree"]
    named = [path for _, path in _PATH_OF_TREE.findall(tree.text)]
    assert len(named) > 5
    assert [path for path in named if not (REPOSITORY / path).exists()] == []


@pytest.mark.parametrize(
    ("shown", "printed", "agrees"),
    [
        pytest.param("a  b\n", "a b", True, id="blanks count as one"),
        pytest.param("a\nb", "a b", False, id="lines count"),
        pytest.param("NAME AGE\nx 5m", "NAME AGE\nx 3m12s", True, id="an age is any age"),
        pytest.param("r@sha256:" + "a" * 64, "r@sha256:" + "b" * 64, True, id="a digest is any digest"),
        pytest.param('from "…"', 'from "r/x:v1"', True, id="an ellipsis is anything"),
        pytest.param("v0.1.0", "v0.2.0", False, id="versions count"),
    ],
)
def test_the_shown_text_is_printable(shown: str, printed: str, agrees: bool) -> None:
    assert pages.agrees(shown, printed) is agrees


_FLAG_ROW = re.compile(r"^\| (`--.*?`) \| (.*?) \|", re.MULTILINE)
_FLAG = re.compile(r"`(--[a-z0-9-]+)`")
COMPONENTS: Mapping[str, Callable[[ArgumentParser], None]] = {
    "catalogd": catalog_flags,
    "operator-controller": operator_flags,
    "rukpak": bundle_flags,
}
"""Those with flags of their own, which they add to the flags that all have."""


def _flags(component: str) -> dict[str, object]:
    """Flag -> default, of one component."""
    parser = make_parser(component)
    COMPONENTS[component](parser)
    defaults = {flag: parser.get_default(action.dest) for action in parser._actions for flag in action.option_strings}
    return {flag: default for flag, default in defaults.items() if flag not in ("-h", "--help")}


def test_the_page_about_installing_names_every_flag_with_its_default() -> None:
    page, _ = _pages_about_installing()
    rows = {flag: default for flags, default in _FLAG_ROW.findall(page) for flag in _FLAG.findall(flags)}
    known = [(component, _flags(component)) for component in COMPONENTS]
    assert set(rows) == {flag for _, flags in known for flag in flags}
    for component, flags in known:
        for flag, default in flags.items():
            if isinstance(default, bool):
                assert rows[flag] == ("on" if default else "off"), flag
            elif isinstance(default, str | Path) and str(default):
                assert rows[flag] == f"`{str(default).replace(component, '<component>')}`", flag


def _pages_about_installing() -> tuple[str, str]:
    """The page without its section about the console, and that section."""
    before, heading, rest = (REPOSITORY / "docs" / "install.md").read_text().partition("\n## The web console\n")
    section, _, after = rest.partition("\n## ")
    return f"{before}\n## {after}", heading + section


def test_the_page_about_installing_names_the_flags_of_the_console_that_no_controller_has() -> None:
    _, section = _pages_about_installing()
    rows = [row.split("| ")[1] for row in section.splitlines() if row.startswith("| `--")]
    named = {flag for row in rows for flag in re.findall("`(--[a-z0-9-]+)", row)}
    flags = {flag for action in console_parser()._actions for flag in action.option_strings if flag.startswith("--")}
    shared = {flag for component in COMPONENTS for flag in _flags(component)} | {"--help"}
    assert named <= flags
    assert flags - shared - {"--bind-address"} <= named


def test_the_page_about_http_names_every_path_and_parameter() -> None:
    page = (REPOSITORY / "docs" / "catalogd-http.md").read_text()
    for route in ROUTES:
        path = route.path.removeprefix("/catalogs/{catalog}").replace("{package}", "<package>")
        path = path.replace("{bundle}", "<bundle>")
        assert f"`{path}" in page
        assert all(parameter.name in page for parameter in route.parameters)


def test_each_alert_is_explained_where_it_says() -> None:
    headings = re.findall(r"^### (\w+)$", (pages.REPOSITORY / "docs/operations.md").read_text(), re.MULTILINE)
    groups = yaml.safe_load((pages.REPOSITORY / "config/prometheus/rules.yaml").read_text())["spec"]["groups"]
    rules = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    assert headings == [rule["alert"] for rule in rules]
    for rule in rules:
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"


def test_the_page_for_operations_names_every_job_and_how_it_ends() -> None:
    page = (REPOSITORY / "docs/operations.md").read_text()
    labels = [*(job.name for job in (LOAD, COMPRESS, SUMMARIZE, UNPACK, SOLVE)), *Outcome, *JobReason]
    assert [label for label in labels if f"`{label}`" not in page] == []


TROUBLESHOOTING = sorted((REPOSITORY / "docs" / "troubleshooting").glob("*.md"))


def test_troubleshooting_explains_every_reason_of_the_code() -> None:
    index = (REPOSITORY / "docs" / "troubleshooting.md").read_text()
    assert [reason for reason in sorted(pages.reasons_of_the_code()) if f"| `{reason}` | " not in index] == []


@pytest.mark.parametrize("page", TROUBLESHOOTING, ids=lambda page: page.name)
def test_a_page_of_troubleshooting_is_linked_and_says_what_to_do(page: Path) -> None:
    assert f"](troubleshooting/{page.name})" in (REPOSITORY / "docs" / "troubleshooting.md").read_text()
    text = page.read_text()
    assert "what to do" in text or "```sh" in text


def _shown_messages() -> list[tuple[str, str]]:
    """(page, part of a message) of the tables of messages: what stands between ellipses, of at least three words."""
    return [
        (page.name, part.strip().replace("\\|", "|"))
        for page in TROUBLESHOOTING
        for row in re.findall(r"^\| (?!message|reason|---)(.*?) \| .* \|$", page.read_text(), re.MULTILINE)
        for part in re.split(r"[…`()\"']|, (?=…)", row)
        if len(part.split()) >= 4
    ]


def test_the_messages_of_troubleshooting_are_those_of_the_code() -> None:
    directories = ("olmkit", "catalogd", "rukpak", "operator_controller", "devcluster")
    strings = " ".join(
        node.value
        for directory in directories
        for path in sorted((REPOSITORY / directory).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    assert len(_shown_messages()) > 40
    unknown = [
        (page, part)
        for page, part in _shown_messages()
        if not any(phrase in strings for phrase in _phrases(part)) and page != "admission.md"  # the API server's words
    ]
    assert unknown == []


def _phrases(text: str) -> list[str]:
    """Each three words in sequence: a value may stand anywhere in a message, and ends a string of the code."""
    words = text.split()
    return [" ".join(words[start : start + 3]) for start in range(len(words) - 2)]


_ATTACK_ROW = re.compile(r"^\| (?!what somebody can try)([^|]+) \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
_ATTACKS = [
    pytest.param(re.findall(r"`([^`]+)`", tests), id=attack)
    for attack, tests in _ATTACK_ROW.findall((REPOSITORY / "docs" / "security.md").read_text())
]


def test_what_the_page_of_the_console_names_exists() -> None:
    page = (REPOSITORY / "docs" / "console.md").read_text()
    named = re.findall(r"`tests/([a-z0-9_/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 20
    for path, name in named:
        text = (REPOSITORY / "tests" / path).read_text()
        assert not name or re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), (path, name)


@pytest.mark.parametrize("tests", _ATTACKS)
def test_what_somebody_can_try_is_tried_by_tests(tests: list[str]) -> None:
    assert tests != []
    for test in tests:
        path, _, name = test.partition("::")
        text = (REPOSITORY / "tests" / path).read_text()
        assert not name or re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), test


def test_the_page_about_security_names_every_file_of_hostile_tests() -> None:
    page = (REPOSITORY / "docs" / "security.md").read_text()
    rows = re.findall(r"^\| what somebody can try \|.*$", page, re.MULTILINE)
    assert set(rows) == {"| what somebody can try | what stops it | shown by |"}
    tests = REPOSITORY / "tests"
    hostile = {
        path for path in tests.rglob("test_*.py") if "hostile" in path.stem or "mark.hostile" in path.read_text()
    }
    hostile -= {Path(__file__), tests / "cluster/rukpak/bundledeployment/test_reconciler_hostile.py"}  # of odd objects
    assert [path for path in sorted(hostile) if path.relative_to(tests).as_posix() not in page] == []
