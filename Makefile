PYTHON ?= python3
BIN := .venv/bin
READY := .venv/installed
DOCS_READY := .venv/docs-installed
OLDEST := build/oldest
PACKAGED := build/packaged
TEST_TOOLS := pytest pytest-xdist hypothesis pandas xxhash onnxruntime

# tests and benchmarks start hundreds of processes, each of which would compile all modules anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test test-all test-oldest lint bench endowment updates reproduce peers panel docs package clean

install: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

demo: $(READY)
	$(BIN)/python -m demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-all: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "slow or not slow"

test-oldest:  # with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv --clear $(OLDEST)
	grep -oE '[a-z-]+>=[0-9.]+' pyproject.toml | sed 's/>=/==/' | sort -u > $(OLDEST)/bounds.txt
	$(OLDEST)/bin/pip install --quiet --disable-pip-version-check -r $(OLDEST)/bounds.txt $(TEST_TOOLS)
	$(OLDEST)/bin/pip install --quiet --disable-pip-version-check --no-deps -e .
	$(OLDEST)/bin/python -m pytest -n 2 --dist loadfile

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(DOCS_READY): $(READY) docs/requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check -r docs/requirements.lock
	touch $@

docs: $(DOCS_READY)
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -d build/doctrees docs build/site
	$(BIN)/python tools/check_site.py build/site

package:  # wheel and sdist, checked; the wheel runs the examples in a fresh environment
	rm -rf dist
	$(PYTHON) -m venv --clear $(PACKAGED)
	$(PACKAGED)/bin/pip install --quiet --disable-pip-version-check build==1.6.1 twine==7.0.0
	$(PACKAGED)/bin/python -m build
	$(PACKAGED)/bin/twine check --strict dist/*
	$(PYTHON) -m venv --clear $(PACKAGED)
	$(PACKAGED)/bin/pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[plots]"
	for each in examples/*.py; do echo $$each; MPLBACKEND=agg $(PACKAGED)/bin/python -I $$each || exit 1; done

bench: $(READY)
	$(BIN)/python -m benchmarks

peers: $(READY)
	$(BIN)/python -m experiments.peers

panel: $(READY)
	$(BIN)/python -m experiments.panel

updates: $(READY)
	$(BIN)/python -m experiments.updates

endowment: $(READY)
	$(BIN)/python -m experiments.endowment

reproduce: $(READY)
	$(BIN)/python -m experiments.reproduction
	$(BIN)/python -m experiments.peers

clean:
	rm -rf .venv $(OLDEST) $(PACKAGED) build/site build/doctrees dist demo.png demo.vw demo.model
