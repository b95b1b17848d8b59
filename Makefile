# `make demo` and `make test` need Python 3.11 and make, and nothing else.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Tests wait for real processes more than they compute: twice as many at once as the two cores that they are made for.
WORKERS ?= 4
BIN := .venv/bin
READY := .venv/ready
XDIST = -n $(WORKERS) --dist=worksteal

# Whoever sets it has each of the thousands of programs that tests start compile all of our code again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test acceptance check night package test-gpu test-gcp test-engines lint format bench bench-scheduling simulate soak mutants chaos crashes fuzz docs play record lock clean

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

demo: $(READY)  ## The main job on this machine, as a story of less than a minute
	@$(BIN)/python docs/demo/demo.py

test:  ## The tests of every change, in less than 12 minutes; installs the programs that they need
	@.ci/install
	@$(MAKE) --no-print-directory $(READY)
	$(BIN)/python -m pytest $(XDIST) -m "not gpu and not acceptance"

acceptance:  ## The long ones besides: real engines, pages that are played; wants root. CI runs both
	@.ci/install
	@$(MAKE) --no-print-directory $(READY)
	$(BIN)/python -m pytest $(XDIST) -m "acceptance and not gpu"

check: $(READY)  ## The loop of a developer: what changed is linted, unit tests, 60 worlds; no service, no root
	@$(BIN)/python -m tests.check

night: test acceptance  ## What is rare: all crashes, long storms, 2,000 kills, 2,000 examples: make night ONLY=crashes
	@$(BIN)/python -m tests.night $(if $(ONLY),--only=$(ONLY))

package: $(READY)  ## Build sdist and wheel, and use them in a fresh environment
	@$(BIN)/python -m tests.installed

test-gpu: $(READY)  ## The tests that need an NVIDIA GPU
	$(BIN)/python -m pytest -m gpu

test-gcp: $(READY)  ## The tests of Google Cloud, against a fake one whose machines are real; wants root
	$(BIN)/python -m pytest $(XDIST) tests/google

test-engines:  ## The tests of other schedulers' engines, which it installs and they start; wants root
	@.ci/install engines
	@$(MAKE) --no-print-directory $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) $(wildcard tests/slurm tests/ray tests/kubernetes)

lint: $(READY)  ## Style, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy $(CLIENTS) --platform=darwin --python-version=3.12 --cache-dir=.mypy_cache/darwin
	$(BIN)/mypy $(CLIENTS) --python-version=3.13

# What runs on people's own machines, macOS too. Of what it imports only itself is judged.
CLIENTS := $(addprefix -p bastion.,bundler cli journal launcher model platform quota schedule service simulate stores) --follow-imports=silent

format: $(READY)  ## Put the code into form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## Measure what docs/explanation/design.md promises
	@$(BIN)/python -m tests.bench

bench-scheduling: $(READY)  ## The policies against each other: make bench-scheduling, or with real jobs TRACE=jobs.csv ARRIVALS=4
	@$(BIN)/python -m tests.bench decide
	@$(BIN)/python -m tests.bench.scheduling $(TRACE) $(if $(ARRIVALS),--arrivals=$(ARRIVALS))

simulate: $(READY)  ## Worlds from seeds: make simulate SEEDS=300 FROM=0 STEPS=300; the story of one: make simulate SEED=28
	@$(BIN)/python -m tests.simulation.main $(if $(SEED),--seed=$(SEED),--seeds=$(or $(SEEDS),300) --from=$(or $(FROM),0)) \
		--steps=$(or $(STEPS),300)

soak: $(READY)  ## The same for a night: make soak SEEDS=100000 STEPS=2000
	@$(BIN)/python -m tests.simulation.main --seeds=$(or $(SEEDS),100000) --from=$(or $(FROM),0) --steps=$(or $(STEPS),2000)

mutants: $(READY)  ## Plant bugs, one at a time, and see each of them caught: make mutants PATCHES=DIR
	@$(BIN)/python -m tests.mutants --workers=$(WORKERS) $(if $(PATCHES),--patches=$(PATCHES)) $(if $(WRITE),--write)

chaos: $(READY)  ## Kill and stop real processes at random: make chaos KILLS=2000 PAUSES=200 SEED=7 STORE=gcs
	@$(BIN)/python -m tests.chaos $(if $(KILLS),--kills=$(KILLS)) $(if $(PAUSES),--pauses=$(PAUSES)) \
		$(if $(SEED),--seed=$(SEED)) $(if $(STORE),--store=$(STORE))

crashes: $(READY)  ## Have every process of every scenario fall at each of its calls: make crashes PAIRS=300 SEED=1
	@$(BIN)/python -m tests.simulation.crashes $(if $(PAIRS),--pairs=$(PAIRS)) $(if $(SEED),--seed=$(SEED))

fuzz: $(READY)  ## Throw bad inputs at every parser: make fuzz EXAMPLES=1000000
	@EXAMPLES=$(or $(EXAMPLES),1000000) $(BIN)/python -m pytest $(XDIST) tests/fuzz/test_parsers.py

docs: $(READY)  ## Make the reference from the code, and the site of all pages: build/docs/index.html
	$(BIN)/python -m docs.tools.reference
	$(BIN)/python -m sphinx -W -n --keep-going -q -b html docs build/docs

play: $(READY)  ## Play a page and write into it what is printed: make play PAGE=docs/tutorial.md
	@$(BIN)/python -m docs.tools.play --write $(PAGE)

record: $(READY)  ## Record the terminal session of the README anew
	@$(BIN)/python -m docs.tools.record

# The lock is what gets installed, byte for byte; pyproject.toml says what would do.
.venv/locked: requirements-dev.lock
	@$(PYTHON) -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "error: $(PYTHON) cannot make an environment; install Python 3.11 (on Debian: apt-get install python3.11-venv)" >&2; \
		exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

$(READY): .venv/locked pyproject.toml
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

lock:  ## Resolve pyproject.toml anew into the four locks
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet uv
	build/lock/bin/uv pip compile $(LOCK) -o requirements.lock pyproject.toml
	build/lock/bin/uv pip compile $(LOCK) -o requirements-image.lock --extra=docker --extra=gcp pyproject.toml
	build/lock/bin/uv pip compile $(LOCK) -o requirements-dev.lock --extra=dev pyproject.toml
	echo 'ray[default]==2.60.*' | build/lock/bin/uv pip compile $(LOCK) -o requirements-ray.lock -

LOCK := --quiet --upgrade --universal --python-version=3.11 --generate-hashes --no-header --no-emit-index-url

clean:  ## Remove all that was made here
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
