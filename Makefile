# Everything works on a fresh clone with nothing before it. `make` alone lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SLOWEST := --durations=5
# one thread each for torch in tests: several threads on a shared machine wait for each other
TEST_ENV := OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false

PEERS ?= .peers

.PHONY: help demo test test-all check format mutate bench peers install-size lock clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 16

demo: $(VENV)/.core  ## train planner and executor on Plan-Path, show the table and the report
	@$(BIN)/motet train plan_path
	@echo; echo "report: $$(ls -td runs/plan_path*/report.html | head -1)"

test: $(VENV)/.dev  ## all tests but the learning studies
	$(TEST_ENV) $(BIN)/python -m pytest -m "not study" $(SLOWEST)

# TESTED=1 says that `make test` has just passed
test-all: $(if $(TESTED),,test) $(VENV)/.dev install-size  ## the tests, then the learning studies, the planted faults and the size of an install
	$(TEST_ENV) $(BIN)/python -m pytest -m study $(SLOWEST) || [ $$? -eq 5 ]
	$(BIN)/python tools/mutate.py

check: $(VENV)/.dev  ## format, lint, types, layers, quick tests: about two minutes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(TEST_ENV) $(BIN)/python -m pytest -m "not slow and not study" -n auto

format: $(VENV)/.dev  ## bring the code into form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

mutate: $(VENV)/.dev  ## plant faults one by one; the tests must notice each
	$(BIN)/python tools/mutate.py

bench: $(VENV)/.core  ## completions per second of a whole iteration, share of the limit, and after `make peers` the peers'
	$(BIN)/motet bench --prompt-tokens 110 --prompt-tokens 512 --output bench.json $(if $(wildcard $(PEERS)/peers.json),--peers $(PEERS))

peers: $(VENV)/.core  ## install other trainers for `make bench`, in an environment of their own (about 2.5 GB)
	$(BIN)/python tools/peers.py install $(PEERS)

install-size: $(VENV)/.core  ## install into an empty environment, measure, hold the limits
	$(BIN)/python tools/install_size.py

lock: $(VENV)/.core  ## resolve the dependencies anew and write the lock files
	$(BIN)/python tools/lock.py

clean:  ## remove the environment and every cache; runs/ stays
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist src/*.egg-info

# The environment: exact versions from the lock files, then the package itself without resolving again.
$(VENV)/.core: requirements.lock pyproject.toml
	@python=$$(tools/find_python); \
	[ -x $(BIN)/python ] || { echo "making $(VENV) with $$python"; $$python -m venv $(VENV); }
	@echo "installing requirements.lock"
	@$(PIP) -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core requirements-dev.lock
	@echo "installing requirements-dev.lock"
	@$(PIP) -r requirements-dev.lock
	@touch $@
