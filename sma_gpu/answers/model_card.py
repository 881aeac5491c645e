"""The model card of a frozen adapter: Markdown made of its lock, so that no figure in it is written by hand.

What a card should say is that of Mitchell and others (2019): what it is for, what it was made of, how it was measured,
where it must not be trusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..ontologies.catalog import catalog
from ..ontologies.manifest import FileManifest, Manifest, manifests
from .words import count, dial_words, release

__all__ = ["model_card"]

Lock = Mapping[str, Any]

_FREE = {"ontology": ("name", "version"), "records": ("name", "version"), "mappings": ("version",),
         "made_with": ("sma_gpu",)}  # fmt: skip
_MARKS = re.compile(r"[\\`*\[\]<>&~#]|(?<!\w)_|_(?!\w)")

_MEASURES = {"top1": "right one first", "top5": "in the first 5", "top10": "in the first 10", "mrr": "reciprocal rank"}
_HELD_OUT = {
    "first": "the first hit is right", "first_five": "one of the first 5 is right", "novelty": "the query is new",
}  # fmt: skip
_RULES = {"strict": "the right record itself", "merged": "a record that stands for the same"}


def model_card(lock: Lock) -> str:
    """Returns the model card of a lock, as Markdown; the same lock gives the same text."""
    about = manifests().get(lock["domain"]) if lock["domain"] else None
    lock = _escaped(lock)
    parts = [
        _head(lock, about),
        _made_of(lock, about),
        _use(lock, about),
        _dials(lock),
        _figures(lock),
        _calibration(lock),
        _limits(lock),
        _identity(lock),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _escaped(lock: Lock) -> Lock:
    """Returns the lock with the texts that come out of files, or of the command line, as plain text of Markdown."""
    parts = {
        part: {**lock[part], **{name: _plain(lock[part][name]) for name in names if lock[part][name] is not None}}
        for part, names in _FREE.items()
        if lock[part] is not None
    }
    return {**lock, **parts, "entity": _plain(lock["entity"])}


def _plain(text: str) -> str:
    """Returns a text of one line in which nothing is a mark of Markdown; a bar is left to ``_row``."""
    return _MARKS.sub(r"\\\g<0>", " ".join(text.split()))


def _code(text: str) -> str:
    """Returns a text as it stands in backticks, more of them where it holds some itself (CommonMark 0.31, 6.1)."""
    most = max(map(len, re.findall("`+", text)), default=0)
    fence, gap = "`" * (most + 1), " " if most else ""
    return f"{fence}{gap}{' '.join(text.split())}{gap}{fence}"


def _head(lock: Lock, about: Manifest | None) -> Iterator[str]:
    ontology, entity = lock["ontology"], lock["entity"]
    title = about.title if about is not None else ontology["name"] or "an ontology of one's own"
    yield f"# Model card: {_plural(entity)} by terms of {title}"
    yield ""
    yield (
        f"Ranks {count(lock['index']['cases'], entity)} by how much they share with a set of terms, and says of each "
        "hit what matched, what stays unexplained and what contradicts it. The ranking is exact: it is that of scoring "
        f"every {entity}."
    )
    if about is not None and about.notice:
        yield ""
        yield f"**{about.notice}**"
    if lock["sample"]:
        yield ""
        yield (
            f"**Its ontology is the small sample that is bundled for {lock['domain']}**: it shows how such an adapter "
            "answers, and no more."
        )


def _made_of(lock: Lock, about: Manifest | None) -> Iterator[str]:
    yield "## What it was made of"
    yield ""
    yield "| part | release | content | licence | SHA-256 of the uncompressed file |"
    yield "| --- | --- | --- | --- | --- |"
    ontology, records = lock["ontology"], lock["records"]
    selection = f", selected by {_code(records['selection'])}" if records["selection"] else ""
    rows = {
        "ontology": (release(ontology["name"], ontology["version"]), count(ontology["terms"], "term")),
        "records": (
            release(records["name"], records["version"]),
            f"{count(records['count'], lock['entity'])}, {count(records['annotations'], 'annotation')}{selection}",
        ),
    }
    if lock["mappings"] is not None:
        groups = count(lock["mappings"]["groups"], "group")
        rows["mappings"] = (
            lock["mappings"]["version"],
            f"{groups} of {_plural(lock['entity'])} that stand for the same",
        )
    if lock["genes"] is not None:
        rows["genes"] = ("", f"genes of each {lock['entity']}")
    for part, (version, content) in rows.items():
        licence = _file(lock, about, part).licence or "not known here: that of its owner"
        yield _row([part, version or "not stated", content, licence, f"`{lock[part]['sha256']}`"])
    cite = about.citation if about is not None else ""
    if cite:
        yield ""
        yield f"Cite: {cite}"
    addresses = {part: _file(lock, about, part).address for part in rows}
    if any(addresses.values()):
        yield ""
        yield from (f"- {part}: <{address}>" for part, address in addresses.items() if address)


def _file(lock: Lock, about: Manifest | None, part: str) -> FileManifest:
    """Returns what is known of the publisher of a part; nothing of a file of somebody's own."""
    unknown = FileManifest("", "", "")
    if about is None:
        entry = catalog().get(lock["catalogued"] or "")
        return entry.ontology if entry is not None and part == "ontology" else unknown
    if part == "records" and lock["records"]["reader"] != about.records.reader:
        return unknown
    return {"ontology": about.ontology, "records": about.records, **about.companions}[part]


def _use(lock: Lock, about: Manifest | None) -> Iterator[str]:
    is_known = about is not None and lock["sample"] and lock["records"]["reader"] == about.records.reader
    example = about.example if about is not None and is_known else "ID ..."
    yield "## How to use it"
    yield ""
    yield "FOLDER is the folder in which this card lies."
    yield ""
    yield f"    sma-gpu query FOLDER {example}"
    yield "    sma-gpu batch FOLDER cases.jsonl -o answers.jsonl"
    yield '    sma-gpu terms FOLDER "part of a name"'
    yield "    sma-gpu adapter verify FOLDER"


def _dials(lock: Lock) -> Iterator[str]:
    yield "## How it ranks"
    yield ""
    yield from (f"- **{dial}**: {words}" for dial, words in dial_words(lock["dials"], lock["entity"]))
    if lock["scorer"]["package"] is not None:
        yield ""
        package, version = _code(lock["scorer"]["package"]), _plain(lock["scorer"]["version"] or "")
        yield f"The scorer comes out of the package {package} {version}."


def _figures(lock: Lock) -> Iterator[str]:
    found = lock["evaluation"]
    yield "## How well it ranks"
    yield ""
    if found is None:
        yield ("Not measured: no evaluation was given when it was frozen. With solved cases of your own:")
        yield ""
        yield "    sma-gpu evaluate FOLDER SOLVED --json -o evaluation.json"
        yield "    sma-gpu adapter freeze FOLDER --evaluation evaluation.json"
        return
    counts, draws = found["counts"], found["bootstrap"]
    yield (
        f"By `sma-gpu evaluate FOLDER SOLVED --json` on solved cases of the form {found['input']['form']} (SHA-256 "
        f"`{found['input']['sha256']}`): {count(counts['evaluated'], 'case')} ranked, {counts['without_answer']:,} of "
        f"them without an answer, {counts['truth_no_hit']:,} whose right {lock['entity']} is no hit. Intervals of "
        f"{draws['level']:.0%}, by {draws['draws']:,} draws of right {_plural(lock['entity'])}, seed {draws['seed']}. "
        "Where scores are equal the place is the mean one, that in favour of the right one (optimistic), or that in "
        "its disfavour (pessimistic)."
    )
    if found["restricted"]:
        yield ""
        yield f"Hits were sought among some of the {_plural(lock['entity'])} only."
    if counts.get("seen"):
        yield ""
        yield (
            f"{counts['seen']:,} cases are seen: the records cite the publication that describes the case itself, so "
            "they tell memory and not skill. Read the slice of those not seen."
        )
    yield ""
    yield "| cases | right is | measure | mean | optimistic | pessimistic |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for part in found["slices"]:
        for rule, words in _RULES.items():
            if part[rule] is not None:
                yield from _measured(part, rule, words, lock["entity"])


def _measured(part: Mapping[str, Any], rule: str, words: str, entity: str) -> Iterator[str]:
    told = f"{part['name']}: {part['cases']:,} of {count(part['entities'], entity)}"
    for measure, name in _MEASURES.items():
        yield _row(
            [told, words, name, *(_interval(part[rule][t][measure]) for t in ("mean", "optimistic", "pessimistic"))]
        )


def _interval(figure: Mapping[str, Any]) -> str:
    if figure["low"] is None or figure["high"] is None:
        return f"{figure['value']:.3f}"
    return f"{figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"


def _calibration(lock: Lock) -> Iterator[str]:
    found = lock["calibration"]
    yield "## What its confidence means"
    yield ""
    if found is None:
        yield (
            "Not calibrated: confidence is the share of the query that a hit explains, and novelty what the first hit "
            "leaves unexplained. Neither is a probability."
        )
        return
    rests_on, figures = found["rests_on"], found["figures"]
    yield (
        f"Confidence is the chance that the hit is right and none before it, by a {found['method']} calibration fitted "
        f"to {count(found['queries'], 'solved case')} of {count(found['groups'], 'group')} (SHA-256 "
        f"`{rests_on['split']}`). It was checked on {found['folds']} folds, seed {found['seed']}, each by a model that "
        "had not seen it; these are the figures of those held-out cases. ECE is the expected calibration error over "
        "ten bins of equal width; beside it stands what chance alone would give if every confidence were true."
    )
    if rests_on["stability_runs"]:
        yield ""
        runs, seed = rests_on["stability_runs"], rests_on["stability_seed"]
        yield f"It takes in {count(runs, 'rerun')} of each query with one term changed, seed {seed}."
    if rests_on["generalisations"]:
        yield ""
        yield "It takes in how well generalisations of the records explain the query."
    yield ""
    yield "| what | n | share true | ECE | by chance | Brier | log loss | AUROC | AURC |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    yield from (_held_out(words, figures[part]) for part, words in _HELD_OUT.items() if part in figures)
    first, novelty = figures.get("first", {}), figures.get("novelty")
    yield ""
    yield (
        f"Without a calibration the first hit's explained share would stand for its confidence: AUROC "
        f"{_number(first.get('explained_auroc'))}, AURC {_number(first.get('explained_aurc'))}."
    )
    if novelty is None:
        return
    yield ""
    yield (
        f"Novelty: AUPR {_number(novelty.get('aupr'))} ({_number(novelty.get('aupr_by_chance'))} by chance), F1 at the "
        f"calibrated threshold {_number(novelty.get('f1'))}; calling everything new gives "
        f"{_number(novelty.get('f1_all_new'))}."
    )


def _held_out(what: str, figures: Mapping[str, float | None]) -> str:
    names = ("true", "ece", "ece_by_chance", "brier", "log_loss", "auroc", "aurc")
    return _row([what, f"{figures.get('n') or 0:,.0f}", *(_number(figures.get(name)) for name in names)])


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _limits(lock: Lock) -> Iterator[str]:
    entity, index, ontology = lock["entity"], lock["index"], lock["ontology"]
    named = release(ontology["name"], ontology["version"]) or "its ontology"
    yield "## Limits"
    yield ""
    yield f"- It knows the terms of {named} alone. An id that is not there is left out, and the answer says so."
    yield f"- It finds what is recorded: no {entity} without a record, and by no term that the record lacks."
    if index["set_aside"]:
        yield f"- Set aside, with no term to match on: {count(index['set_aside'], 'record')}."
    yield "- A term that was looked for and is absent never scores; it is held against a hit as a contradiction."
    yield f"- It weighs shared terms. How common each {entity} is, and what terms do not say, plays no part."
    if lock["mappings"] is None:
        yield f"- No mappings lie with it: {_plural(entity)} that stand for the same are ranked each for itself."
    if lock["calibration"] is not None:
        yield from _odds(lock["calibration"]["figures"])
    unmeasured = ["how it does on cases of another origin than those above"] if lock["evaluation"] else ["its accuracy"]
    unmeasured += (
        [] if lock["calibration"] else ["how often a hit of some confidence is right", "how well it tells what is new"]
    )
    unmeasured.append("whether it serves all groups of people or kinds of cases alike")
    yield f"- Not measured: {'; '.join(unmeasured)}."


def _odds(figures: Mapping[str, Any]) -> Iterator[str]:
    right = figures.get("first", {}).get("true")
    if right is not None:
        yield (
            f"- Confidence holds for cases like the solved ones, of which the first hit was right in {right:.1%}: "
            "where right first hits are rarer it is too high."
        )
    new = figures.get("novelty", {}).get("true")
    if new is not None:
        yield f"- Novelty is a chance at odds of {new:.1%} new queries: where these are rarer it is too high."


def _identity(lock: Lock) -> Iterator[str]:
    yield "## Identity"
    yield ""
    yield "| what | value |"
    yield "| --- | --- |"
    yield _row(["lock", f"`{lock['sha256']}`"])
    yield _row(["index", f"`{lock['index']['fingerprint']}`"])
    yield _row(["dials", f"`{lock['dials_fingerprint']}`"])
    yield _row(["calibration", f"`{lock['calibration']['fingerprint']}`" if lock["calibration"] else "none"])
    yield _row(["query encoder", f"version {lock['encoder_version']}"])
    probes = len(lock["probes"]["answers"])
    yield _row(["fixed queries", f"{probes}, with {lock['probes']['k']} hits each, by the SHA-256 of their answers"])
    yield _row(["made with", f"sma_gpu {lock['made_with']['sma_gpu']}"])
    yield ""
    yield "`sma-gpu adapter verify FOLDER` compares all of it with what is there."


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _plural(entity: str) -> str:
    return f"{entity}s"
