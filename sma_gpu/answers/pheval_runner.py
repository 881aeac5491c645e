"""The runner by which PhEval starts this package: the entry point of the group ``pheval.plugins``.

The class stands on one of PhEval's own, so it is made when it is asked for, and nothing here needs PhEval before. Its
input folder holds ``config.yaml``; under ``tool_specific_configuration_options`` stand the options below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import DataMissing, QueryError
from ..ontologies.records.patients import read_patients
from .opening import open_engine
from .pheval import RAW_FOLDER, write_pheval

__all__ = ["OPTIONS", "SmaGpuPhEvalRunner", "rank_corpus", "read_options"]  # noqa: F822 - made on demand

OPTIONS: Mapping[str, tuple[type, Any]] = {
    "domain": (str, "medicine"),
    "k": (int, 100),
    "backend": (str, "auto"),
    "mappings": (str, "auto"),
    "merge_equivalents": (bool, False),
    "inheritance": (list, []),
    "without_sources": (list, []),
}
"""Options of a run, each with its type and its default."""

_NAME = "SmaGpuPhEvalRunner"
_PACKETS = "phenopackets"  # the folder of a corpus that holds them; a corpus without it is such a folder itself


def read_options(given: object) -> dict[str, Any]:
    """Returns the options of a run, checked, each with its default where it is not given.

    Raises:
        QueryError: an option is not known, or has a value of another type.
    """
    if given is not None and not isinstance(given, Mapping):
        found = f"they are a {type(given).__name__}"
        raise QueryError("options of the run", found, f"Give a mapping of {', '.join(OPTIONS)}.")
    found_options = {name: default for name, (_, default) in OPTIONS.items()}
    for name, value in (given or {}).items():
        if name not in OPTIONS:
            raise QueryError(f"the option {name!r}", "there is none of this name", f"Known are {', '.join(OPTIONS)}.")
        kind = OPTIONS[name][0]
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits or (kind is list and not all(isinstance(item, str) for item in value)):
            what = "a list of texts" if kind is list else f"of type {kind.__name__}"
            raise QueryError(f"the option {name}", f"{value!r} is not {what}", "Mend config.yaml.")
        found_options[name] = value
    return found_options


def rank_corpus(
    corpus: Path, out: Path, options: Mapping[str, Any], *, diseases: bool = True, genes: bool = False
) -> dict[str, list[str]]:
    """Writes the tables of a corpus of phenopackets, and returns what failed: file to the words of the error.

    Args:
        corpus: a folder of phenopackets, or one with a folder ``phenopackets``.
        out: the folder of the run.
        options: made by ``read_options``.
        diseases: rank diseases.
        genes: rank genes.

    Raises:
        DataMissing: there is no such corpus, or data for the domain is missing.
        QueryError: an option has a value that cannot be used.
    """
    given = read_patients(str(_packets(corpus)))
    failed: dict[str, list[str]] = {}
    for by in (*([""] if diseases else []), *(["gene"] if genes else [])):
        engine = open_engine(
            options["domain"],
            backend=options["backend"],
            mappings=options["mappings"],
            merge=options["merge_equivalents"] and not by,
            by=by,
            inheritance=options["inheritance"],
            without_sources=options["without_sources"],
        ).for_batch(len(given.records))
        restriction = engine.restrict()
        lines = write_pheval(engine, given, options["k"], out, restriction)
        for record, line in zip(given.records, lines, strict=True):
            if "error" in line:
                error = line["error"]
                failed.setdefault(record.where, []).append(f"{error['asked']}: {error['found']}. {error['do']}")
    return failed


def _packets(corpus: Path) -> Path:
    inside = corpus / _PACKETS
    return inside if inside.is_dir() else corpus


def __getattr__(name: str) -> Any:
    if name == _NAME:
        return _runner_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _runner_class() -> type:
    """Returns the class that PhEval starts.

    Raises:
        DataMissing: PhEval is not installed.
    """
    try:
        import polars
        from pheval.post_processing.post_processing import SortOrder, generate_disease_result, generate_gene_result
        from pheval.runners.runner import PhEvalRunner
        from pheval.utils.logger import get_logger
    except ImportError as fault:
        asked, found = f"the PhEval runner {_NAME}", f"{fault.name or 'pheval'} is not installed"
        raise DataMissing(asked, found, "Run: pip install pheval") from fault

    class SmaGpuPhEvalRunner(PhEvalRunner):  # type: ignore[misc]
        """Ranks the diseases, and the genes, of a corpus of phenopackets."""

        def prepare(self) -> None:
            """Checks the options, so that a wrong one is told before any work is done."""
            self._options = read_options(self.input_dir_config.tool_specific_configuration_options)
            if self.input_dir_config.variant_analysis:
                raise QueryError(
                    "variants in order", "only diseases and genes are ranked", "Set variant_analysis false."
                )

        def run(self) -> None:
            """Writes the tables of the tool; what failed is told in PhEval's own log."""
            config = self.input_dir_config
            failed = rank_corpus(
                Path(self.testdata_dir),
                Path(self.output_dir),
                self._options,
                diseases=config.disease_analysis,
                genes=config.gene_analysis,
            )
            for file, errors in sorted(failed.items()):
                get_logger().warning(f"{file} has no result: {'; '.join(errors)}")

        def post_process(self) -> None:
            """Lets PhEval make its own results of them.

            PhEval ranks diseases by the score alone, and finds by Mondo which of them are the truth. Genes of one
            disease have one score, and PhEval gives each of them the last of their places.
            """
            config, out = self.input_dir_config, Path(self.output_dir)
            packets = _packets(Path(self.testdata_dir))
            if config.disease_analysis:
                self._generate(generate_disease_result, "disease", ("disease_identifier", "score"), packets, out)
            if config.gene_analysis:
                columns = ("gene_symbol", "gene_identifier", "score")
                self._generate(generate_gene_result, "gene", columns, packets, out)

        def _generate(
            self, generate: Callable[..., None], kind: str, columns: Sequence[str], packets: Path, out: Path
        ) -> None:
            types = {name: polars.Float64 if name == "score" else polars.String for name in columns}
            for packet in sorted(packets.iterdir()):
                path = out / RAW_FOLDER / f"{packet.stem}-{kind}.tsv"
                if path.is_file():
                    read = polars.read_csv(
                        path, separator="\t", quote_char=None, columns=list(columns), schema_overrides=types
                    )
                    generate(
                        results=read.select(columns),
                        sort_order=SortOrder.DESCENDING,
                        output_dir=out,
                        result_path=Path(packet.name),
                        phenopacket_dir=packets,
                    )

    SmaGpuPhEvalRunner.__module__ = __name__
    SmaGpuPhEvalRunner.__qualname__ = _NAME
    return SmaGpuPhEvalRunner
