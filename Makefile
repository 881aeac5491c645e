# make demo       a worked example: rank all HPO diseases for three phenotypes, explain the best
# make test       lint, format, types and the whole test suite; what CI runs
# make test-fast  the same without packaging, outside oracles and slow tests; about two minutes
# make lint       lint, format and types alone
# make bench      the speed benchmark of the CPU backends
# make test-torch   installs torch into .venv and compares the torch backend with the reference
# make test-kernels  installs torch, triton and nvidia-cuda-nvrtc into .venv and tests the device kernels without a GPU
# make bench-structure   speed and proof rate of matching cases with structure, some minutes
# make clean      removes .venv and everything built
#
# Each target builds .venv if need be. Another interpreter: make PYTHON=/path/to/python3.12 test

PYTHON ?= python3
PYTEST_ARGS ?=
# On Linux the package index serves a CUDA build of some gigabytes; TORCH="--index-url ... torch==2.13.0" takes another.
TORCH ?= torch==2.13.0

KERNELS ?= triton==3.6.0 nvidia-cuda-nvrtc==13.0.88

DEMO  := $(PYTHON) .ci/venv.py hpo --
DEV   := $(PYTHON) .ci/venv.py hpo,cyber,bench,cpu,dev --
BENCH := $(PYTHON) .ci/venv.py hpo,bench,cpu --

.PHONY: demo test test-fast test-torch test-kernels lint bench bench-structure clean
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

test-torch:
	@$(DEV) python -m pip install --quiet --disable-pip-version-check $(TORCH)
	@$(DEV) pytest tests/parity/test_torch.py tests/parity/test_torch_beam.py $(PYTEST_ARGS)

test-kernels:
	@$(DEV) python -m pip install --quiet --disable-pip-version-check $(TORCH) $(KERNELS)
	@$(DEV) pytest tests/parity/test_cuda_sources.py tests/parity/test_triton_select.py \
	  tests/parity/test_ahead_of_time.py tests/parity/test_cuda_backend.py $(PYTEST_ARGS)

bench:
	@$(BENCH) python -m sma_gpu.bench.speed

bench-structure:
	@$(BENCH) python -m sma_gpu.bench.structure

# The lock file stays: a target that is running holds it.
clean:
	rm -rf .venv .venv.log build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
