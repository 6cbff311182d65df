# Needs Python 3.10 to 3.13, pip and make; everything else goes into $(VENV).

VENV ?= .venv
CONSTRAINTS ?= requirements/newest.txt
PYTEST_ARGS ?=
BENCH_ARGS ?= all

FITS = import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))
# python3 where it fits, else the newest that does.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.10; do \
	"$$python" -c '$(FITS)' 2>/dev/null && { echo "$$python"; break; }; done)

BIN = $(VENV)/bin
INSTALLED = $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test check format support bench clean

help: ## show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED) ## make .venv and install paceline with TensorFlow for CPUs into it

$(INSTALLED): pyproject.toml $(CONSTRAINTS)
	@python="$(PYTHON)"; test -n "$$python" && "$$python" -c '$(FITS)' || { \
		echo "paceline needs Python 3.10 to 3.13."; \
		echo "  got:      $${python:-python3} ($$("$${python:-python3}" --version 2>&1))"; \
		echo "  fix:      make $(MAKECMDGOALS) PYTHON=/path/to/python3.13"; exit 1; } >&2
	@echo "installing into $(VENV), which takes some minutes the first time"
	@"$(PYTHON)" -m venv "$(VENV)"
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check \
		--constraint "$(CONSTRAINTS)" --editable '.[cpu,dev]'
	@touch "$@"

demo: $(INSTALLED) ## train a small CNN on handwritten digits with 2 workers
	@"$(BIN)/paceline" run examples/demo_digits.py --workers 2

test: $(INSTALLED) ## run the tests (PYTEST_ARGS="-k word" chooses)
	@"$(BIN)/python" -m pytest $(PYTEST_ARGS)

check: $(INSTALLED) ## static checks: format, lint, types, rooms
	"$(BIN)/ruff" format --check
	"$(BIN)/ruff" check
	"$(BIN)/mypy"
	"$(BIN)/lint-imports"

format: $(INSTALLED) ## format the code and mend what can be mended
	"$(BIN)/ruff" check --fix
	"$(BIN)/ruff" format

support: $(INSTALLED) ## make docs/support.md from test results
	-"$(BIN)/python" -m pytest -m support --every-gang --support-json build/support.json $(PYTEST_ARGS)
	-"$(BIN)/python" -m pytest -m support --over-ring --support-json build/support-ring.json tests/scripts $(PYTEST_ARGS)
	"$(BIN)/python" scripts/support.py build/support.json build/support-ring.json docs/support.md

bench: $(INSTALLED) ## measure, and write docs/benchmarks.md (BENCH_ARGS="mlp --rounds 3" chooses)
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --editable '.[cpu,bench]'
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --no-deps 'tf-keras>=2.19,<2.22'
	"$(BIN)/python" benchmarks/run.py $(BENCH_ARGS)

clean: ## remove .venv and everything that was built
	rm -rf "$(VENV)" .venv-newest .venv-oldest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
