# Needs Python 3.11 or newer and make; everything else goes into .venv.
# `make demo PYTHON=/path/to/python3.12` picks another interpreter.

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && break; done)
KREW_URI ?= https://example.com/kubectl-planner.tar.gz
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO ?= examples/01-one-constraint

# Tests start hundreds of programs, each of which would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test slow long e2e e2e-long check format pages bench bench-solve dist clean

help:  ## This list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## */make \1\t/' | expand -t 18

setup: $(READY)  ## .venv with the pinned dependencies and `planner` in it

demo: $(READY)  ## What kube-scheduler does with the pending pods of a small cluster
	$(BIN)/planner simulate -f $(DEMO)

test: $(READY)  ## All tests but the long ones, on all cores, two minutes; TESTS=path runs all of a file
	$(BIN)/python -m pytest $(or $(TESTS),-n auto --dist worksteal)

slow: $(READY)  ## The tests that `make test` leaves out because each takes long, on all cores, three minutes
	$(BIN)/python -m pytest -n auto --dist worksteal -m long

long: $(READY)  ## All tests, the random ones with EFFORT=30 times as many draws; the better part of an hour
	EFFORT=$(or $(EFFORT),30) $(BIN)/python -m pytest $(or $(TESTS),-n auto --dist worksteal)

# Twice as many at a time as there are processors: most of the time they wait for a cluster.
e2e: $(READY)  ## Stories on a real control plane, minutes; skipped where ../shared/control-plane is not there
	$(BIN)/python -m pytest $(or $(E2E),-n 4 --dist worksteal tests/e2e tests/control_plane)

e2e-long: $(READY)  ## The same many times over, and struck at random moments; RUNS, KILLS and SEED, the better part of an hour
	$(BIN)/python -m pytest -v -rP $(or $(E2E),tests/e2e/long_runs.py)

check: $(READY)  ## Lint, format, types, and which package may import which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## Let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pages: $(READY)  ## What the pages and the picture show, made true again
	$(BIN)/python -c "from tools.renew import main; main()"

bench: $(READY)  ## Throughput against kube-scheduler's figures; minutes, on a quiet machine
	$(BIN)/python benchmarks/throughput.py $(BENCH)

bench-solve: $(READY)  ## `planner solve` on generated batches; the better part of an hour, on a quiet machine
	$(BIN)/python benchmarks/solve.py $(BENCH)

dist: $(READY)  ## The wheel, and archive and manifest for krew; KREW_URI is where the archive will be
	rm -rf dist && mkdir dist
	$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	$(BIN)/python packaging/krew/make.py dist "$(KREW_URI)"

clean:  ## Away with .venv and every cache
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Once, and again when the dependencies change.
$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { \
		echo "Python 3.11 or newer is needed; none found on the PATH (or say make PYTHON=...)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is not Python 3.11 or newer" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Setting up $(VENV), once; this takes a minute"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m compileall -q cli models planner
	@touch $@
