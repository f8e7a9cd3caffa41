PYTHON ?= python3
BIN := .venv/bin
READY := .venv/installed

.PHONY: install demo test test-all lint bench endowment reproduce peers clean

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

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

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
	rm -rf .venv demo.png
