# All development commands. `make` without a target lists them.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
CODE := olmkit catalogd rukpak operator_controller olmctl console devcluster release tests
# `make e2e KUBECONFIG=...`, or the environment: the tests use this cluster.
TEST_CLUSTER := $(if $(filter command line,$(origin KUBECONFIG)),$(KUBECONFIG),$(OLM_KUBECONFIG))
# Processes share the test files, each with its own cluster (tests/file_scheduling.py); with TEST_CLUSTER there is one.
workers = $(if $(TEST_CLUSTER),,-n $(1) --dist loadfile --no-loadscope-reorder)
# Tiers with programs of their own: directories of tests. `make test` leaves them out.
OWN_TIERS := alerts browser certmanager gitops image node release signatures
# Tiers without a cluster and, but for a few files, without processes.
PURE_TIERS := cases corpus unit
# Long proofs of promises that shorter tests prove too: marked tests, wherever they are. Only their own targets run them.
LONG_TIERS := console crash hostile scale v1
# Tests that are collected for seconds, as those of properties are, for which hypothesis reads all modules: the one process of the pure
# tiers collects them, and not each of those that share files.
COLLECTED_ONCE := \
tests/integration/catalogd/http/test_openapi.py \
tests/integration/catalogd/ingest/test_catalog_files.py \
tests/integration/catalogd/ingest/test_yaml_worker_pool.py \
tests/integration/olmkit/sources/oci/test_layers.py \
tests/integration/olmkit/sources/test_tree.py \
tests/integration/olmkit/sources/test_zip_archive.py
SHORT := -m "not (console or crash or hostile or scale or v1)"
NODE_TESTS := tests/node
SHORT_NODE_TESTS := tests/node/test_suite.py tests/node/operators/test_greeter.py::test_it_reconciles_is_upgraded_and_removed
DEMO_FLAGS := $(if $(ONCE),--once) $(if $(CATALOG),--catalog $(CATALOG)) $(if $(NODE),--node $(NODE)) $(if $(NAME),--name $(NAME))

# The API servers of the tests log there what the controllers ask for. An existing cluster logs nothing there.
AUDIT_LOGS := $(CURDIR)/.cache/audit

# Runs a command, and adds the seconds that it took, and a name, to .cache/seconds.
timed = began=$$SECONDS; $(2) && echo "$$((SECONDS - began)) $(1)" >> .cache/seconds

# The tests start thousands of Python processes, and each would compile the modules of the suite itself.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: $(OWN_TIERS) $(LONG_TIERS) help setup lock format generate check unit coverage integration cluster e2e corpus buildah chromium console pictures test audit dist docs bench demo clean short-node busy-tiers pure-tiers beside-tests compiled beside-setup programs $(CHECKS)

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: .venv/ready ## make .venv from the lock file

.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "olm-suite needs Python 3.11 or later: set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	PIP_FIND_LINKS= $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@# setuptools warns about every editable installation
	PIP_FIND_LINKS= $(BIN)/python -W ignore -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

lock: setup ## update requirements.lock from pyproject.toml (hashes, no address); UPGRADE=1 takes the newest versions
	PIP_FIND_LINKS= $(BIN)/pip-compile --quiet $(if $(UPGRADE),--upgrade) --extra console --extra dev --strip-extras --generate-hashes --allow-unsafe --no-emit-index-url --no-emit-find-links --output-file requirements.lock pyproject.toml

format: setup ## format the code
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

generate: setup ## write config/crd and docs/api.md from the models, config/argocd/argocd-cm.yaml and the manifests of `olm suite`
	$(BIN)/python -m release.generated

# Workflows for authors to copy.
SAMPLE_WORKFLOWS := config/samples/projects/greeter/.github/workflows
CHECKS := check-style check-types check-imports check-generated check-workflows

check: setup ## lint, types, import contracts, generated files, workflows
	@$(MAKE) --no-print-directory --jobs 2 $(CHECKS)

check-style:
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

check-types:
	$(BIN)/mypy

check-imports:
	$(BIN)/lint-imports --no-cache

check-generated:
	$(BIN)/python -m release.generated --check

check-workflows:
	$(BIN)/zizmor --offline --no-progress --quiet --strict-collection .github $(SAMPLE_WORKFLOWS)
	@if actionlint=$$($(BIN)/python -m devcluster.optional_programs actionlint); then $$actionlint -shellcheck $(BIN)/shellcheck -pyflakes= && \
	$$actionlint -shellcheck $(BIN)/shellcheck -pyflakes= $(SAMPLE_WORKFLOWS)/*.yml; \
	else echo "actionlint did not check the workflows, for the reason above."; fi

# Compiles the tests, once instead of in each of the processes that share them. Of what is collected nothing is garbage to look for.
compiled:
	@$(BIN)/pytest -p no:unraisableexception --collect-only -qq tests > /dev/null || true

unit: setup ## pure tests, with all examples of properties, of which `make test` takes one of four
	OLM_EXAMPLES_SHARE=1 $(BIN)/pytest $(call workers,3) $(SHORT) tests/unit tests/cases

coverage: setup ## the lines that the pure tests run, measured; the report names those that they do not
	OLM_EXAMPLES_SHARE=1 $(BIN)/pytest $(call workers,3) --cov --cov-report=term-missing:skip-covered tests/unit tests/cases

integration: setup ## tests with files, processes and sockets, without a cluster
	$(BIN)/pytest $(call workers,3) $(SHORT) tests/integration

cluster: setup ## tests on a real API server
	$(BIN)/pytest $(call workers,3) $(SHORT) tests/cluster

e2e: setup ## the scenarios of the guide; `make e2e KUBECONFIG=...` runs them on any cluster
	$(if $(TEST_CLUSTER),OLM_KUBECONFIG=$(TEST_CLUSTER)) $(BIN)/pytest $(call workers,3) $(SHORT) tests/e2e

buildah: setup ## install buildah, which tests/e2e uses to build images (Debian, as root; `make test` does it too)
	$(BIN)/python -m devcluster.buildah

browser: setup ## the pages of the console in Chromium: accessibility, narrow screens, the keyboard, no JavaScript (Debian, as root)
	$(BIN)/pytest tests/browser

pictures: setup ## write the pictures of docs/pictures: the pages of the console beside the sample catalog (Debian, as root)
	OLM_PICTURES=write $(BIN)/pytest tests/browser/suite/test_a_new_user.py tests/browser/suite/test_pages.py

console: browser ## the pages of the console in full: in Chromium, and against the API server with users of different rights
	$(BIN)/pytest $(call workers,2) -m console tests

chromium: setup ## install chromium, which tests/browser uses (Debian, as root)
	$(BIN)/python -m devcluster.chromium

corpus: setup ## tests over all real catalogs and bundles, of which `make test` takes one of eight (OLM_CORPUS, default ../shared/corpus)
	OLM_CORPUS_SHARE=1 $(BIN)/pytest -m "corpus and not scale" tests

test: setup ## check, unit, cases, integration, cluster, e2e, corpus, and the suite as pods on a real node
	@rm -rf .cache/seconds $(AUDIT_LOGS) && mkdir -p $(AUDIT_LOGS)
	$(call timed,check,$(MAKE) --no-print-directory --jobs 2 check-types compiled $(filter-out check-types,$(CHECKS)))
	$(if $(OLM_KUBECONFIG),,$(call timed,programs of the cluster,$(MAKE) --no-print-directory programs))
	$(call timed,tests,$(MAKE) --no-print-directory --jobs 3 busy-tiers pure-tiers beside-tests)
	@cat .cache/pure.log .cache/node.log
	$(if $(OLM_KUBECONFIG),,$(call timed,audit,OLM_AUDIT_COMPLETE=1 $(MAKE) --no-print-directory audit))
	@awk '{ all += $$1 } { printf "%s%d:%02d %s", (NR > 1 ? ", " : ""), $$1 / 60, $$1 % 60, substr($$0, index($$0, " ") + 1) } \
	END { printf "; make test took %d:%02d\n", all / 60, all % 60 }' .cache/seconds

busy-tiers beside-tests: export OLM_AUDIT_DIRECTORY := $(AUDIT_LOGS)

# These processes also wait: four use two processors. Each one more has a cluster of its own, which costs processor time while it is idle.
busy-tiers:
	$(BIN)/pytest $(call workers,4) $(SHORT) $(foreach tier,audit $(PURE_TIERS) $(OWN_TIERS),--ignore=tests/$(tier)) $(addprefix --ignore=,$(COLLECTED_ONCE)) tests

# One process beside the others: each of six would spend seconds on collecting ten thousand tests of which it runs some.
pure-tiers:
	@$(BIN)/pytest $(SHORT) $(addprefix tests/,$(PURE_TIERS)) $(COLLECTED_ONCE) > .cache/pure.log 2>&1 || { cat .cache/pure.log; exit 1; }

# Builds the image while the tests wait for the clusters; its output comes at the end, or at once if it fails.
beside-tests:
	@$(MAKE) --no-print-directory short-node > .cache/node.log 2>&1 || { cat .cache/node.log; exit 1; }

short-node: setup
	@if $(BIN)/python -m devcluster build --node real; then $(MAKE) --no-print-directory node NODE_TESTS="$(SHORT_NODE_TESTS)"; \
	else echo "The suite was not run as pods, for the reason above."; fi

audit: setup ## check what the controllers asked for in the last `make test`: nothing was refused, each verb of each rule was used
	OLM_AUDIT_DIRECTORY=$(AUDIT_LOGS) $(BIN)/pytest -q tests/audit

gitops: setup ## Argo CD and Flux deliver the suite's objects on a local cluster (the first build takes nine minutes)
	$(BIN)/pytest -s tests/gitops

crash: setup ## kill the controllers at each of their writes, and rukpak at points from the seed under a fleet of packages; SEED=1 KILLS=200
	OLM_CRASH_SEED=$(or $(SEED),1) OLM_CRASH_KILLS=$(or $(KILLS),200) $(BIN)/pytest $(call workers,2) -m crash tests

hostile: setup ## content and servers made to exhaust memory, disk or time: millions of files, bombs, servers that never end
	$(BIN)/pytest $(call workers,2) -m hostile tests

scale: setup ## a thousand Operators at once, and all packages of the corpus side by side
	$(BIN)/pytest $(call workers,2) -m scale tests

v1: setup ## the scenarios of OLM v1, and what kubectl-operator does, against ClusterCatalogs and ClusterExtensions
	$(BIN)/pytest $(call workers,2) -m v1 tests

alerts: setup ## check the alerts and the dashboard with promtool and Prometheus (the first build takes five minutes)
	$(BIN)/pytest tests/alerts

certmanager: setup ## cert-manager issues and renews the certificates of a bundle on a local cluster (the first build takes five minutes)
	$(BIN)/pytest tests/certmanager

signatures: setup ## images that cosign signs are verified (the first build of cosign takes four minutes)
	$(BIN)/pytest tests/signatures

image: setup ## build the image without a Docker engine and run it; REFRESH=1 looks for newer Debian packages
	$(BIN)/python -m release.image $(if $(REFRESH),--refresh)
	OLM_IMAGE_DIRECTORY=build $(BIN)/pytest -s tests/image

node: setup ## run the suite as pods of its image on a real node, and operators of ours as real pods (Debian, as root)
	$(BIN)/python -m devcluster build --node real
	$(BIN)/python -m release.image
	OLM_IMAGE_DIRECTORY=build $(BIN)/pytest -s $(NODE_TESTS)

dist: setup ## write the wheel and the source distribution for PyPI into dist
	rm -rf dist
	@$(BIN)/python -m release.distribution

docs: setup ## write the site of the documentation into build/site; a broken link is an error
	@$(BIN)/python -m release.site

release: setup ## write install.yaml, crds.yaml, the Helm chart and SHA256SUMS into build/release, and run tests/release; IMAGE=... stamps it, BUNDLE_IMAGE=... adds a bundle for OLM v0
	rm -rf build/release
	$(BIN)/python -m release $(if $(IMAGE),--image '$(IMAGE)') $(if $(BUNDLE_IMAGE),--bundle-image '$(BUNDLE_IMAGE)')
	OLM_RELEASE_DIRECTORY=build/release $(BIN)/pytest tests/release

bench: setup ## measure the figures and describe the machine
	$(BIN)/python -m tests.bench

# pip waits for the network where Go compiles: the first start builds the programs beside it.
beside-setup:
	@$(MAKE) --no-print-directory --jobs 2 setup $(if $(OLM_KUBECONFIG),,programs)

programs:
	@$(if $(wildcard .venv/ready),$(BIN)/python,$(PYTHON)) -m devcluster.programs

demo: beside-setup ## install two Operators with the suite on a local cluster; ONCE=1 ends after it, CATALOG=directory installs all its packages, NODE=real runs operators as pods, NAME=another runs beside it
	@$(BIN)/python -m devcluster.demo $(DEMO_FLAGS)

clean: ## remove what the targets created here (not the cache of cluster programs)
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
