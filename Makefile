# make demo       a worked example: rank all HPO diseases for three phenotypes, explain the best
# make test       lint, format, types and the whole test suite, device kernels included; what CI runs
# make test-fast  the same without packaging, outside oracles, torch and slow tests; about two minutes
# make lint       lint, format and types alone
# make bench      speed beside other systems and its growth: docs/SPEED.md and its records anew, about ten minutes
# make test-kernels  the torch backend and the device kernels alone, proved without a GPU
# make results    every suite of the bench and the evaluation of trust, quick: docs/RESULTS.md, docs/TRUST.md and their
#                 reports anew, about half an hour; FULL=1 takes every question and seed, some hours
# make bench-structure   speed and proof rate of matching cases with structure, some minutes
# make notebooks  the notebooks anew with what they show, under a minute
# make clean      removes .venv and everything built
#
# Each target builds .venv if need be. Another interpreter: make PYTHON=/path/to/python3.12 test

PYTHON ?= python3
PYTEST_ARGS ?=
# Passed to `sma-gpu bench speed`, such as --peers none.
BENCH_ARGS ?=
# What proves the device kernels without a GPU: an interpreter, and compilers for sm_80 and sm_90. On Linux the package
# index may serve a CUDA build of torch, some gigabytes; TORCH="--index-url ... torch==2.13.0" takes another.
TORCH ?= torch==2.13.0
KERNELS ?= triton==3.6.0 nvidia-cuda-nvrtc==13.0.88

DEMO  := $(PYTHON) .ci/venv.py hpo --
DEV   := $(PYTHON) .ci/venv.py hpo,cyber,bench,cpu,dev --
BENCH := $(PYTHON) .ci/venv.py hpo,bench,cpu --
PROVERS := $(DEV) python -m pip install --quiet --disable-pip-version-check $(TORCH) $(KERNELS)

.PHONY: demo test test-fast test-kernels lint bench bench-structure results notebooks clean
.DEFAULT_GOAL := demo

demo:
	@$(DEMO) sma-gpu query medicine HP:0001166 HP:0001083 HP:0012499 HP:0001519 --exclude HP:0000545 -k 5

lint:
	@$(DEV) ruff check .
	@$(DEV) ruff format --check .
	@$(DEV) mypy

test: lint
	@$(PROVERS)
	@$(DEV) pytest $(PYTEST_ARGS)

test-fast: lint
	@$(DEV) pytest -m "not slow and not oracle and not gpu" --ignore=tests/packaging/test_wheel.py $(PYTEST_ARGS)

test-kernels:
	@$(PROVERS)
	@$(DEV) pytest tests/parity --ignore=tests/parity/test_cpu.py $(PYTEST_ARGS)

# A workload whose files are not here (exit 3) keeps the record that it has. Kernels of OpenBLAS are those it chooses.
SPEED := env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BENCH) sma-gpu bench speed $(BENCH_ARGS) --json
bench:
	@env -u SMA_GPU_DATA $(SPEED) --workload w1 -o docs/measured/speed-w1.json
	@$(SPEED) --workload dev -o docs/measured/speed-dev.json || test $$? -eq 3
	@env -u SMA_GPU_DATA $(SPEED) --workload w1-200k -o docs/measured/speed-w1-200k.json
	@env -u SMA_GPU_DATA $(SPEED) --workload w1-1m -o docs/measured/speed-w1-1m.json
	@env -u SMA_GPU_DATA $(SPEED) --plots docs/images -o docs/measured/speed-growth.json
	@env -u SMA_GPU_DATA $(BENCH) sma-gpu ops bench --json -o docs/measured/ops-cpu.json
	@$(BENCH) python -m sma_gpu.bench.speed_page .

bench-structure:
	@$(BENCH) python -m sma_gpu.bench.structure

# A suite whose files are not here (exit 3) keeps the report that it has. Rows are kept: a run that was stopped goes on.
RIVALS := $(PYTHON) .ci/venv.py hpo,cyber,bench,peers,cpu --
SUITES := attack filings genomics ladder leak-free patents patients published ssb
FULL ?=
KIND := $(if $(FULL),,-quick)
results:
	@mkdir -p bench/expected
	@for suite in $(SUITES); do \
	  $(RIVALS) sma-gpu bench run $$suite $(if $(FULL),,--quick) --json -o bench/expected/$$suite$(KIND).json \
	    || test $$? -eq 3 || exit 1; \
	done
	@$(RIVALS) sma-gpu bench claims $(if $(FULL),,--quick) --folder bench-runs/published$(KIND) --json \
	  -o bench/expected/claims$(KIND).json
	@$(RIVALS) sma-gpu bench misses ssb --json -o bench/expected/misses-ssb.json
	@$(RIVALS) python -m sma_gpu.bench.results_page .
	@$(RIVALS) sma-gpu bench trust $(if $(FULL),,--quick) --json -o bench/expected/trust$(KIND).json || test $$? -eq 3
	@$(RIVALS) python -m sma_gpu.bench.trust.page .

notebooks:
	@$(DEV) python notebooks/execute.py

# The lock file stays: a target that is running holds it.
clean:
	rm -rf .venv .venv.log build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
