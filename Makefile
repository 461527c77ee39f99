# Commands of the repository; `make help` lists them.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Lock files hold versions and hashes, and no address of an index.
COMPILE = $(BIN)/pip-compile -q --strip-extras --allow-unsafe --generate-hashes --no-header \
	--no-annotate --no-emit-index-url --no-emit-find-links --no-emit-trusted-host
PYTEST := $(BIN)/python -m pytest
# Where tools live that tests use and pip cannot give (kubectl, prometheus).
export PATH := $(CURDIR)/.tools/bin:$(PATH)

.PHONY: help setup demo test chaos check fmt bench record evaluate quality studies tools ci lock

help:  ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## (.*)/  \1|\2/' | column -t -s '|'

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: requirements/demo.lock pyproject.toml | $(VENV)/bin/python
	@echo "Installing what the demo needs into $(VENV) ..."
	$(PIP) install --require-hashes -r requirements/demo.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: requirements/test.lock $(VENV)/.demo
	@echo "Installing what the tests need into $(VENV) ..."
	$(PIP) install --require-hashes -r requirements/test.lock
	@touch $@

setup: $(VENV)/.test  ## Make the virtual environment with everything in it

demo: $(VENV)/.demo  ## Watch the whole product on the embedded cluster
	@$(BIN)/mig-autoscaler demo $(DEMO_ARGS)

test: $(VENV)/.test  ## Run all tests (under five minutes on two cores)
	$(PYTEST) -q -n 2 --dist loadfile --ignore tests/chaos tests

chaos: $(VENV)/.test  ## Run the loop with deaths, faults and people at every moment
	$(PYTEST) -q -n 2 --dist loadfile tests/chaos

check: $(VENV)/.test  ## Format, lint, types, import contracts, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(VENV)/.test  ## Format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test  ## Time planning on large fleets; prints, never fails on seconds
	$(BIN)/python -m benchmarks.run

record: $(VENV)/.test  ## Write what is generated anew: schemas, manifests, the README's plan
	$(BIN)/python -m autoscaler.adapters.policy_schema docs
	$(BIN)/python -m autoscaler.simulation.study.scenario_schema docs
	$(BIN)/python -m autoscaler.cli.initial_configuration > deploy/initial/mig-configurations.yaml
	$(BIN)/python tools/example.py docs/examples/cluster.json
	$(BIN)/mig-autoscaler $$(sed -n 's/^\$$ mig-autoscaler \(plan --from docs.*\)/\1/p' README.md) | $(BIN)/python tools/output.py README.md plan
	$(BIN)/mig-autoscaler demo --no-live | $(BIN)/python tools/output.py README.md demo
	$(BIN)/python tools/recorded.py simulations/recorded

evaluate: $(VENV)/.test  ## Judge decisions on all cases, for hours; goes on where it stopped
	$(BIN)/python -m autoscaler.cli.evaluate simulations/results docs/decision-quality.md $(EVALUATE_ARGS)

quality: $(VENV)/.test  ## Write docs/decision-quality.md from simulations/results
	$(BIN)/python -m autoscaler.cli.evaluate simulations/results docs/decision-quality.md --page-only --summary | $(BIN)/python tools/output.py README.md quality

studies: $(VENV)/.test  ## Record anew the studies that the manual shows, for minutes
	$(BIN)/mig-autoscaler simulate simulations/presets.yaml | $(BIN)/python tools/output.py docs/planning.md presets

tools: $(VENV)/bin/python  ## Install kubectl and Prometheus where they are missing (as root: Debian packages)
	tools/install.sh

ci: tools check  ## What CI runs: checks and all tests, nothing skipped for a missing tool
	REQUIRED_MARKERS=kubectl,prometheus $(MAKE) test
	$(MAKE) chaos

lock: $(VENV)/bin/python  ## Write the lock files anew
	$(PIP) install pip-tools
	$(COMPILE) --extra simulation --extra build -o requirements/demo.lock pyproject.toml
	$(COMPILE) --extra simulation --extra build --extra sweep --extra pictures --extra dev -c requirements/demo.lock -o requirements/test.lock pyproject.toml
	$(COMPILE) -c requirements/demo.lock -o requirements/run.lock pyproject.toml
	$(COMPILE) -c requirements/demo.lock -o requirements/build.lock requirements/build.in
