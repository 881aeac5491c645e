"""Parses the command line, runs one command, and turns errors into plain words and exit codes.

0 done, an honest abstention included; 1 a check failed or ``--fail-on-abstain``; 2 wrong usage or a refused file;
3 something is missing, with the line that installs it; 4 done, but some records failed.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence

from ..answers.formats import parse_forms
from ..errors import BackendUnavailable, DataMissing, SmaError
from ..version import __version__
from . import adapter, bench, calibrate, commands, data, evaluate, index, ops
from .align import align
from .batch import batch as answer_batch
from .ranking import add_calibration, add_ranking, add_stability

__all__ = ["main"]

DONE, FAILED, USAGE, MISSING, PARTLY = 0, 1, 2, 3, 4
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    _speak_utf8()
    words = _words_of_process() if argv is None else list(argv)
    parser, verbs = _parsers()
    # Plain parse_args would take "query medicine -k 5 HP:1" for a query without ids: a list that may be empty is
    # filled at its first chance. Intermixed parsing waits for all words, and works on the parser of one command.
    if words and words[0] in verbs:
        arguments = verbs[words[0]].parse_intermixed_args(words[1:])
    else:
        arguments = parser.parse_args(words)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except (DataMissing, BackendUnavailable) as error:
        return _refuse(str(error), MISSING)
    except SmaError as error:
        return _refuse(str(error), USAGE)
    except BrokenPipeError:
        _silence_stdout()
        return DONE
    except OSError as fault:
        _silence_stdout()
        where = fault.filename or "the answer"
        return _refuse(f"{where}: {fault.strerror}. Give files and places that can be read and written.", USAGE)
    except KeyboardInterrupt:
        return _refuse("interrupted", INTERRUPTED)
    return code


def _refuse(words: str, code: int) -> int:
    print(f"sma-gpu: {words}", file=sys.stderr)
    return code


def _speak_utf8() -> None:
    """Makes the standard streams UTF-8, whatever the locale: names and ids are not ASCII everywhere."""
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _words_of_process() -> list[str]:
    # Under a locale that is not UTF-8 the interpreter has decoded the words with another encoding. Names and ids are
    # wanted as UTF-8, paths as the interpreter has them: a word that names something on disk is a path.
    return [
        word if word.isascii() or os.path.exists(word) else os.fsencode(word).decode("utf-8", "surrogateescape")
        for word in sys.argv[1:]
    ]


def _silence_stdout() -> None:
    # The interpreter flushes standard output once more at its end, and would complain about it a second time.
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Returns the parser of the whole command line, and by name those of its commands that have no commands below."""
    parser = argparse.ArgumentParser(
        prog="sma-gpu",
        description="Exact, explainable retrieval over structure: ranks annotated entities for a set of terms.",
    )
    parser.add_argument("--version", action="version", version=f"sma-gpu {__version__}")
    verbs = parser.add_subparsers(metavar="COMMAND", required=True)

    query = verbs.add_parser("query", help="rank all records for one query and explain the best hit")
    _domain(query)
    query.add_argument("ids", nargs="*", metavar="ID", help="term ids that are present (names under --names)")
    _restriction(query)
    add_ranking(query, ranks=True)
    add_stability(query)
    add_calibration(query)
    query.add_argument("--like", metavar="KEY", type=_word, help="a record stands in the place of the terms")
    _query_options(query)
    _k(query, 10)
    query.set_defaults(run=commands.query)

    batch = verbs.add_parser("batch", help="answer many queries, one line of JSON each")
    _domain(batch)
    batch.add_argument(
        "input",
        nargs="?",
        metavar="INPUT",
        type=_word,
        help='JSONL with {"id","observed","excluded"} a line, phenopackets (file, folder, zip), or -',
    )
    batch.add_argument(
        "--from",
        dest="source",
        nargs="+",
        action="extend",
        default=[],
        metavar="PATH",
        type=_word,
        help="in the place of INPUT: each of these files, and each file in these folders, is a query, up to the next "
        "option; in the forms that query --from reads",
    )
    _restriction(batch)
    add_ranking(batch, ranks=True)
    add_stability(batch)
    add_calibration(batch)
    _k(batch, 10)
    batch.add_argument(
        "-o", "--output", metavar="FILE", type=_place, help="write here and resume here (default: standard output)"
    )
    batch.add_argument("--overwrite", action="store_true", help="start anew whatever is in FILE")
    _form_option(
        batch,
        ("jsonl", "json", "tsv", "parquet", "text", "html", "pheval"),
        "jsonl",
        "json",
        "jsonl (default; json is the same), tsv, parquet, text, html (one page, with pages of the cases in FILE_cases "
        "where they are many); several go to FILE.jsonl, FILE.tsv, ...; without jsonl the lines by which a batch goes "
        "on stand in FILE.lines until all is done; pheval: tables for PhEval, in the folder FILE",
    )
    batch.add_argument(
        "--compare",
        metavar="OLD",
        type=_word,
        help="earlier answers, lines of JSON: say whose hits moved since, and through what; -f json for JSON, and -o "
        "for the answers of now",
    )
    batch.add_argument("--fail-on-abstain", action="store_true", help="exit 1 if any query was abstained from")
    _engine_options(batch)
    batch.set_defaults(run=answer_batch)

    explain = verbs.add_parser("explain", help="exact rank, score and mapping of one record, also outside the top k")
    _domain(explain)
    explain.add_argument("key", metavar="KEY", help="the record, such as OMIM:154700")
    explain.add_argument("ids", nargs="*", metavar="ID", help="term ids that are present (names under --names)")
    _restriction(explain)
    add_ranking(explain, ranks=False)
    add_stability(explain)
    add_calibration(explain)
    _query_options(explain)
    explain.set_defaults(run=commands.explain)

    compare = verbs.add_parser("compare", help="what two records share and what only one of them has, by bits")
    _domain(compare)
    compare.add_argument("first", metavar="KEY")
    compare.add_argument("second", metavar="KEY")
    _output_options(compare, "text", "json", "html")
    _engine_options(compare)
    compare.set_defaults(run=commands.compare)

    analogy = verbs.add_parser("align", help="align two cases: what corresponds, what follows by analogy, what differs")
    analogy.add_argument("base", metavar="BASE", type=_word, help="file of the case that is drawn upon")
    analogy.add_argument("target", metavar="TARGET", type=_word, help="file of the case that is to be understood")
    analogy.add_argument(
        "--lattice", metavar="FILE", type=_word, help="which predicates are related: a vocabulary or an ontology"
    )
    analogy.add_argument("--svg", metavar="OUT", type=_place, help="also draw the analogy into this file")
    _output_options(analogy, "text", "json", "svg", "html")
    analogy.add_argument("--dials", default="default", help="default, or dials to change, like '{\"rho\": 0.9}'")
    analogy.add_argument(
        "--nodes", metavar="N", type=_positive, help="most steps of the search for the best mapping, and for its proof"
    )
    analogy.add_argument(
        "--strict-input",
        action="store_true",
        help="refuse predicates that the lattice lacks, and a lattice that otherwise loads with warnings",
    )
    analogy.set_defaults(run=align)

    terms = verbs.add_parser("terms", help="search the names and synonyms of an ontology")
    _domain(terms)
    terms.add_argument("text", metavar="TEXT", type=_word, help="part of a name or synonym")
    _k(terms, 20)
    _output_options(terms)
    _file_options(terms)
    terms.set_defaults(run=commands.terms)

    doctor = verbs.add_parser("doctor", help="what is installed, which data was found where, which backend serves")
    doctor.add_argument("folder", nargs="?", metavar="DIR", type=_word, help="look into this folder of files instead")
    _output_options(doctor)
    doctor.set_defaults(run=commands.doctor)

    evaluate.register(verbs, _solved_options, _place)
    calibrate.register(verbs, _engine_options, _place)
    index.register(verbs, _file_options, _place)
    plain = dict(verbs.choices)
    ops.register(verbs, _output_options)
    bench.register(verbs, _output_options)
    data.register(verbs, _output_options)
    adapter.register(verbs, _output_options, _file_options, _place)
    return parser, plain


def _domain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "domain", metavar="DOMAIN|DIR", type=_word, help="a ready domain, such as medicine, or a folder of files"
    )


def _solved_options(parser: argparse.ArgumentParser) -> None:
    """Adds what a command on solved cases asks of the engine that they are put to."""
    _domain(parser)
    _restriction(parser)
    add_ranking(parser, ranks=False)
    add_calibration(parser)
    _engine_options(parser)


def _k(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument("-k", type=_positive, default=default, help=f"most results wanted (default {default})")


def _restriction(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--among", metavar="FILE", type=_word, help="rank only the records with these keys, one a line")
    parser.add_argument(
        "--where",
        metavar="CONDITION",
        action="append",
        default=[],
        type=_word,
        help="rank only the records with this attribute, such as source=OMIM or 'date<2015-01-01' (quote < and >); "
        "repeat it for conditions that must all hold. Operators: = != < <= > >=. Numbers and dates compare as such, "
        "other texts by code point. Of several values any may be equal, and < <= > >= look at the greatest: "
        "date<2015-01-01 keeps records with nothing dated 2015 or later, date>=2015-01-01 all others that have dates. "
        "sma-gpu doctor names the attributes there are",
    )


def _query_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--exclude",
        nargs="+",
        action="extend",
        default=[],
        metavar="ID",
        help="terms looked for and absent: all ids up to the next option",
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        type=_word,
        help="terms seen, from a file or -: Navigator layer, STIX bundle, attack flow, MISP event, CSV, text",
    )
    parser.add_argument("--names", action="store_true", help="ID arguments are exact names or synonyms")
    parser.add_argument("--fail-on-abstain", action="store_true", help="exit 1 instead of 0 when there is no answer")
    forms = ("text", "json", "jsonl", "tsv", "parquet", "html", "navigator", "pheval")
    _form_option(
        parser, forms, "text", "json", f"form of the answer: {', '.join(forms)}; several go to FILE.json, FILE.tsv, ..."
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=_place, help="write the answer here instead of standard output"
    )
    _engine_options(parser)


def _form_option(
    parser: argparse.ArgumentParser, allowed: Sequence[str], default: str, of_json: str, words: str
) -> None:
    """Adds the option for one form of an answer or several; ``--json`` is that for the form ``of_json``."""
    parser.add_argument("-f", "--format", metavar="FORM[,FORM]", type=_forms(*allowed), default=(default,), help=words)
    parser.add_argument(
        "--json",
        action="store_const",
        const=(of_json,),
        default=(default,),
        dest="format",
        help=f"same as -f {of_json}",
    )


def _output_options(parser: argparse.ArgumentParser, *formats: str) -> None:
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="same as -f json")
    choices = formats or ("text", "json")
    parser.add_argument("-f", "--format", choices=choices, default="text", help="form of the answer")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=_place, help="write the answer here instead of standard output"
    )


def _file_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--release", help="release of the ontology, where several are found (default: the newest)")
    parser.add_argument("--strict-input", action="store_true", help="refuse files that otherwise load with warnings")
    parser.add_argument(
        "--language",
        default="",
        metavar="TAG",
        help="language of the names of terms, such as de, where the ontology has them in several (default: en; of an "
        "index of your own, that in which it was made)",
    )


def _engine_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kind", default="", metavar="KIND", help="kind of records, where a domain has several: campaign in cyber"
    )
    parser.add_argument(
        "--dials",
        help="ic, evidence, adapter-v1, or a JSON object of dials, the others as in ic, or a file with one, such as "
        "evaluate --tune writes (default: those of the domain, or of a saved index)",
    )
    parser.add_argument("--backend", default="auto", help="which backend answers (default: the best that can)")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda: where the backend works (default: auto)")
    _file_options(parser)


def _forms(*allowed: str) -> Callable[[str], tuple[str, ...]]:
    """Returns what reads a list of forms."""

    def forms(text: str) -> tuple[str, ...]:
        try:
            return parse_forms(text, allowed)
        except ValueError as fault:
            raise argparse.ArgumentTypeError(f"invalid choice: {fault}") from fault

    return forms


def _word(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("an empty word stands where a name or a path is wanted")
    return text


def _place(text: str) -> str:
    # A new file is no path that exists, so its name was decoded as UTF-8; the file system wants it as it came.
    return os.fsdecode(_word(text).encode("utf-8", "surrogateescape"))


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number
