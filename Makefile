# Start here: `make demo` shows the product, `make test` runs its tests, `make help` lists the rest.
# PYTHON chooses the interpreter for the virtual environment; ARGS is handed to the command that a target runs.

PYTHON ?= python3
VENV ?= .venv
ARGS ?=

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo serve test verify lint format bench screenshots clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(INSTALLED) ## create .venv with what running the orchestrator needs

demo: $(INSTALLED) ## drive a sample work item from created to done (ARGS="--json", "--hold", ...)
	@$(BIN)/orch demo $(ARGS)

serve: $(INSTALLED) ## run the orchestrator on 127.0.0.1:8500
	@$(BIN)/orch serve $(ARGS)

test: $(INSTALLED_DEV) ## run the test suite, setting up what it needs (ARGS="-k words")
	@$(BIN)/python -m pytest -n 2 $(ARGS)

lint: $(INSTALLED_DEV) ## check format, style, types and the direction of imports
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

verify: lint test ## everything a change must pass: lint, then test

format: $(INSTALLED_DEV) ## format the code and mend what can be mended by itself
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(INSTALLED_DEV) ## measure the orchestrator's own speed
	@$(BIN)/python bench/run.py $(ARGS)

screenshots: $(INSTALLED_DEV) ## take the pictures of the dashboard for the documentation
	@$(BIN)/python scripts/screenshots.py $(ARGS)

clean: ## remove the virtual environment, caches and built files
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps make a second run start at once. Both installs are editable, so only a changed pyproject.toml repeats them.
# What they say goes to standard error: the output of `make demo ARGS=--json` stays a document.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >&2 || { rm -rf $(VENV); exit 1; }

$(INSTALLED): pyproject.toml | $(BIN)/python
	@echo "Installing the orchestrator into $(VENV) (once, about a minute) ..." >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[demo]' >&2
	@touch $@

$(INSTALLED_DEV): pyproject.toml | $(BIN)/python
	@echo "Installing the orchestrator and its test tools into $(VENV) (once, one to two minutes) ..." >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev]' >&2
	@touch $(INSTALLED) $@
