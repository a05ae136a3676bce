# `make demo` and `make test` need Python 3.11 or newer and nothing else: `setup` comes first by itself.

PYTHON ?= python3
JOBS ?= 2
SCALE ?= small
BIN := .venv/bin
READY := .venv/.ready
DOCS_READY := .venv/.docs-ready

.DEFAULT_GOAL := help
.PHONY: setup demo test test-quick test-long test-kills test-openapi test-stream test-kafka test-postgres test-wheel \
	check format docs bench bench-quick experiments clean help

setup: $(READY)  ## Make .venv with all dependencies, and find or prepare a Java
	@$(BIN)/python -m tamis.spark.running.java

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c '' || { echo "Tamis needs Python 3.11 or newer, and '$(PYTHON)' does not run: install it, or name yours as in 'make PYTHON=python3.12'." >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Tamis needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) -V 2>&1): name a newer one as in 'make PYTHON=python3.12'." >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "'$(PYTHON)' cannot make virtual environments: install its venv package (Debian, Ubuntu: apt install python3-venv)." >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt \
		--editable '.[spark,server,sql,dev]'
	@touch $@

demo: setup  ## The auction story end to end, on an embedded Spark
	@$(BIN)/tamis demo

test: setup  ## All tests but the long ones
	$(BIN)/pytest -n $(JOBS) --dist worksteal

test-quick: $(READY)  ## The tests that need no JVM and take no time
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not spark and not slow and not long and not postgres and not wheel and not kafka"

test-long: setup  ## The tests that take minutes to hours, and the others' histories by the thousand
	$(BIN)/pytest -m long --timeout 0
	TAMIS_EXAMPLES=1000 $(BIN)/pytest -n $(JOBS) --dist worksteal --timeout 0 -m "not slow" tests/conformance

test-kills: $(READY)  ## Clients at work while their server is killed fifty times
	TAMIS_KILLS=50 $(BIN)/pytest --timeout 0 -s tests/server/test_kills.py

test-openapi: $(READY)  ## Requests that schemathesis makes of /openapi.json, against a server of their own
	$(BIN)/python -m tests.server.from_openapi

test-stream: setup  ## Streams whose drivers and workers are killed again and again: minutes
	$(BIN)/pytest -m long --timeout 0 -s tests/spark/streaming

test-kafka: setup  ## A stream through a real Kafka, whose jars are fetched
	$(BIN)/pytest -m kafka --timeout 0 tests/spark/streaming

test-postgres: $(READY)  ## The tests of the SQL matchers on PostgreSQL: TAMIS_POSTGRES=postgresql://user@host/name
	@test -n "$(TAMIS_POSTGRES)" || { echo "Name a database: make test-postgres TAMIS_POSTGRES=postgresql://user@host/name" >&2; exit 2; }
	TAMIS_POSTGRES='$(TAMIS_POSTGRES)' $(BIN)/pytest -m postgres

test-wheel: $(READY)  ## The package as a stranger gets it: built, installed in an empty environment, with each extra
	$(BIN)/pytest -m wheel --timeout 900

check: $(READY)  ## Style, types, architecture
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

format: $(READY)  ## Sort imports, fix what can be fixed, format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Not --quiet: it would keep warnings from being counted, and with them broken links from failing the build.
docs: $(DOCS_READY)  ## The documentation as a site that needs no network, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt --editable '.[docs]'
	@touch $@

bench: setup  ## Did we get slower? And against peers
	$(BIN)/python -m benchmarks

bench-quick: setup  ## The same, small
	$(BIN)/python -m benchmarks --quick

experiments: setup  ## The papers' tables and figures redone, in results/: SCALE=test|small|paper|max
	$(BIN)/tamis experiments run all --scale $(SCALE) --out results/$(SCALE)

clean:  ## Remove .venv and everything else made here
	rm -rf .venv build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .schemathesis spark-warehouse
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
