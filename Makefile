# `make demo` and `make test` need Python 3.11+, Java 17, Maven and make; they set up the rest in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Spark's workers must run this interpreter, whatever PATH says.
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(BIN)/python

# A recipe that pipes what pip says into awk must fail if pip does.
SHELL := bash

# Without bytecode every worker of the tests, and every Python that Spark starts, compiles all it imports again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo quick test failed slow nightly test-matrix lint types check bench fuzz faults loop-faults wrapper-faults shake mutations release-check mutations-sample golden site site-check sdist-test lock clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## create .venv with the locked dependencies

# The stamp is written last, so an interrupted set-up is done again, from a clean folder.
$(READY): dev.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "copartition needs Python 3.11 or newer; '$(PYTHON)' is not on the PATH." >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "copartition needs Python 3.11 or newer; $$($(PYTHON) --version) is too old. Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@rm -f $(READY)
	@echo "Setting up $(VENV), once: about a minute, $$(grep -c '^[a-z].*==' dev.lock) packages to fetch and to install"
	@$(PYTHON) -m venv --clear $(VENV)
	@set -o pipefail; $(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r dev.lock | awk \
	  '/^Collecting/ {print "  fetching " $$2} /^Installing collected/ {print "  installing what was fetched"} {fflush()}'
	@echo "  installing copartition, editable"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

demo: $(READY)  ## route 336,776 real flights with Spark, write, read back, audit, simulate, diff
	@$(BIN)/python -m examples.flights

# A test in which its worker ends is given to the next worker, and to the one after that: at most three times in a run.
PYTEST = $(BIN)/python -m pytest --benchmark-skip --dist loadfile --max-worker-restart 2 --durations 10 \
  -o console_output_style=classic
# No live test runs in the quick tier that would be tried again.
QUICK = $(PYTEST) --tier quick --numprocesses auto -p no:rerunfailures
T ?=

quick: $(READY)  ## run what needs nothing but Python: 2 minutes of CPU, one minute on two idle cores; T=path for a part
	@$(QUICK) $(T)

# Most of these tests wait for a broker or for Spark: more workers than cores.
test: $(READY)  ## run what a user's machine should confirm: 15 minutes of CPU, 8 to 12 minutes on two idle cores; real servers need Java 17 and Maven; T=path for a part
	@$(PYTEST) --tier test --numprocesses 4 -m "not tooling" $(T)

failed: $(READY)  ## run what failed in the last run, then the rest of `make test`
	@$(PYTEST) --tier test --numprocesses 4 -m "not tooling" --failed-first $(T)

# What needs only Python and may have had fewer cases or examples in `make test` runs here with all of them.
slow: $(READY)  ## run what `make test` leaves out because it takes long
	@$(PYTEST) --tier ci --numprocesses 4 -m "(slow or sampled or tooling or (hypothesis or wider) and not live) and not nightly" $(T)

nightly: $(READY)  ## run in full what `make slow` runs some of
	@$(PYTEST) --tier ci --numprocesses 4 -m nightly -o faulthandler_timeout=7200 $(T)

lint: $(READY)  ## check style, and who imports whom
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache

types: $(READY)  ## check types, those of the plug-ins in docs/ too
	@$(BIN)/mypy
	@$(BIN)/mypy docs/example-*/*.py
	@$(BIN)/basedpyright --pythonpath $(BIN)/python

check: lint types test  ## lint, types and tests

bench: $(READY)  ## run the benchmarks; each reports a ratio against a named competitor
	@$(BIN)/python -m pytest benchmarks --benchmark-only -o python_files='bench_*.py'

N ?= 20

shake: $(READY)  ## run the live tests N times while all cores are busy, and list what ever failed; T=path for a part
	@$(BIN)/python -m tools.shake --rounds $(N) $(T)

mutations: $(READY)  ## make some 240 small mistakes in copies: which tier of the tests notices each?
	@$(BIN)/python -m tools.mutations

SIZE ?= 40

mutations-sample: $(READY)  ## draw SIZE=40 mutations of each package by SEED=1 and list what the quick tier does not notice
	@for package in partitioning assignors copartition spark_integration; do \
	  $(BIN)/python -m tools.mutations.sample $$package --size $(SIZE) --seed $(SEED) || exit; \
	done

CASES ?= 100000
SEED ?= 0

fuzz: $(READY)  ## give hostile input to all that reads; `make test` does it briefly; CASES=1000000 SEED=1
	@$(BIN)/python -m tools.fuzz --cases $(CASES) --seed $(SEED)

faults: $(READY)  ## kill, stop and cut Spark's sinks on a real broker and count records; an hour; SEED=1
	@$(BIN)/python -m benchmarks.faults --seeds $(SEED)

loop-faults: $(READY)  ## kill, freeze and cut a loop that reads and writes in transactions; half an hour; SEED=1
	@$(BIN)/python -m benchmarks.loop_faults --seeds $(SEED)

wrapper-faults: $(READY)  ## kill, freeze and cut producers on a real broker and count records; half an hour; SEED=1
	@$(BIN)/python -m benchmarks.wrapper_faults --seeds $(SEED)

test-matrix: $(READY)  ## run what may differ on every PySpark, other tests on the lowest versions and newer Pythons
	@$(BIN)/python -m tools.matrix $(MATRIX)

TAG ?= v

release-check: $(READY)  ## say what speaks against releasing this commit: TAG=v0.2.0
	@$(BIN)/python -m tools.release $(TAG)

golden: $(READY)  ## ask the JVM and every real client again (needs Java, Maven, Go, Node and npm)
	@$(BIN)/python -m tools.oracle.assignors.regenerate
	@$(BIN)/python -m tools.oracle.tasks.regenerate
	@$(BIN)/python -m tools.oracle.clients.regenerate
	@$(BIN)/python -m tools.oracle.keys.regenerate
	@$(BIN)/python -m tools.oracle.producer.regenerate

SITE_VENV := build/site-venv

$(SITE_VENV)/.ready: tools/site/site.lock
	@$(PYTHON) -m venv --clear $(SITE_VENV)
	@$(SITE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tools/site/site.lock
	@touch $@

site: $(SITE_VENV)/.ready  ## build the site from docs/, benchmarks/ and docstrings into build/site
	@NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --quiet
	@echo "build/site/index.html; its search needs a server: $(PYTHON) -m http.server --directory build/site"

site-check: site  ## look at the site in Chromium: accessibility, light and dark, phone, no outside requests
	@$(SITE_VENV)/bin/python -m tools.site.browse build/site

sdist-test: $(READY)  ## build the source distribution and run its own tests of the core
	@rm -rf build/sdist && mkdir -p build/sdist
	@$(BIN)/python -m build --sdist --no-isolation --outdir build/sdist . >/dev/null
	@tar -xzf build/sdist/*.tar.gz -C build/sdist --strip-components 1
	@cd build/sdist && $(CURDIR)/$(BIN)/python -m pytest -q -p no:cacheprovider \
	  tests/partitioning/test_*.py --tier quick --ignore tests/partitioning/test_example_plugin.py

COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
  --no-annotate --no-header --upgrade --quiet

lock: $(READY)  ## pin the newest development dependencies, the lowest, and the site's: names, versions and hashes
	@$(COMPILE) --all-extras --group dev --output-file dev.lock
	@$(COMPILE) --all-extras --group test --resolution lowest-direct --no-emit-package pyspark --no-emit-package py4j \
	  --output-file tools/matrix/lowest.lock
	@for spark in $(basename $(wildcard tools/matrix/*.in)); do \
	  $(COMPILE) --all-extras $$spark.in --group test --output-file $$spark.lock || exit 1; \
	done
	@$(COMPILE) tools/site/site.in --extra cli --extra report --output-file tools/site/site.lock

clean:  ## remove everything make created, the environment included
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks build dist demo-output
