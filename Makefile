PYTHON ?= python3
BIN := .venv/bin
READY := .venv/installed
LOWEST := build/lowest
TEST_TOOLS := pytest pytest-xdist hypothesis pandas xxhash onnxruntime

.PHONY: install demo test test-all test-lowest lint bench endowment reproduce peers clean

install: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

demo: $(READY)
	$(BIN)/python -m demo

test: $(READY)
	$(BIN)/python -m pytest -n 2

test-all: $(READY)
	$(BIN)/python -m pytest -n 2 -m "slow or not slow"

test-lowest:  # with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv --clear $(LOWEST)
	grep -oE '[a-z-]+>=[0-9.]+' pyproject.toml | sed 's/>=/==/' | sort -u > $(LOWEST)/bounds.txt
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check -r $(LOWEST)/bounds.txt $(TEST_TOOLS)
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check --no-deps -e .
	$(LOWEST)/bin/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m benchmarks

peers: $(READY)
	$(BIN)/python -m experiments.peers

endowment: $(READY)
	$(BIN)/python -m experiments.endowment

reproduce: $(READY)
	$(BIN)/python -m experiments.reproduction
	$(BIN)/python -m experiments.peers

clean:
	rm -rf .venv $(LOWEST) demo.png
