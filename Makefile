# make demo       a worked example: rank all HPO diseases for three phenotypes, explain the best
# make test       lint, format, types and the whole test suite; what CI runs
# make test-fast  the same without packaging, outside oracles and slow tests; under two minutes
# make lint       lint, format and types alone
# make bench      the speed benchmark of the reference backend
# make bench-structure   speed and proof rate of matching cases with structure, some minutes
# make clean      removes .venv and everything built
#
# Each target builds .venv if need be. Another interpreter: make PYTHON=/path/to/python3.12 test

PYTHON ?= python3
PYTEST_ARGS ?=

DEMO  := $(PYTHON) .ci/venv.py hpo --
DEV   := $(PYTHON) .ci/venv.py hpo,bench,dev --
BENCH := $(PYTHON) .ci/venv.py hpo,bench --

.PHONY: demo test test-fast lint bench bench-structure clean
.DEFAULT_GOAL := demo

demo:
	@$(DEMO) sma-gpu query medicine HP:0001166 HP:0001083 HP:0012499 HP:0001519 --exclude HP:0000545 -k 5

lint:
	@$(DEV) ruff check .
	@$(DEV) ruff format --check .
	@$(DEV) mypy

test: lint
	@$(DEV) pytest $(PYTEST_ARGS)

test-fast: lint
	@$(DEV) pytest -m "not slow and not oracle and not gpu" --ignore=tests/packaging/test_wheel.py $(PYTEST_ARGS)

bench:
	@$(BENCH) python -m sma_gpu.bench.speed

bench-structure:
	@$(BENCH) python -m sma_gpu.bench.structure

# The lock file stays: a target that is running holds it.
clean:
	rm -rf .venv .venv.log build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
