"""Which of several labels is shown. The choice goes by language and text, never by the order of the file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .owl_graph import Literal, Node
from .owl_vocabulary import YES

__all__ = ["Chosen", "choose_label", "deprecation_of"]


class Chosen(NamedTuple):
    """The label that is shown, all others in order, and a remark where the choice was not plain."""

    label: Literal | None
    others: tuple[Literal, ...]
    remark: str


def choose_label(labels: Iterable[Literal], language: str, also: Iterable[Literal] = ()) -> Chosen:
    """Returns the label in ``language``, else in a regional form of it, without a language, or in another one.

    Regional forms and other languages go by the code points of their tags, labels of one language by those of their
    texts. Blank labels are none. Labels that a source gives ``also``, under another property, come behind the others,
    but before those that are in another language.

    >>> german = [Literal("Zelle", "de", ""), Literal("cell", "en-us", "")]
    >>> choose_label(german, "en").label.text
    'cell'
    """
    wanted = language.lower()

    def bare(given: Iterable[Literal]) -> set[Literal]:
        return {Literal(" ".join(label.text.split()), label.language, "") for label in given if label.text.strip()}

    def place(label: Literal) -> tuple[bool, bool, int, str, str]:
        tag = label.language
        rank = 0 if tag == wanted else 1 if tag.startswith(f"{wanted}-") else 2 if not tag else 3
        return rank == 3, label not in first_choice, rank, tag, label.text

    first_choice = bare(labels)
    ordered = sorted(first_choice | bare(also), key=place)
    if not ordered:
        return Chosen(None, (), "")
    first, rest = ordered[0], ordered[1:]
    rivals = first_choice if first in first_choice else rest
    same = [label.text for label in rest if label.language == first.language and label in rivals]
    remark = ""
    if first.language and place(first)[0]:
        remark = f"has no label in {wanted}; that in {first.language} is used, {first.text!r}"
    elif same:
        of = f" in {first.language}" if first.language else ""
        remark = f"has {len(same) + 1} labels{of}; the first by code point is used, {first.text!r}"
    return Chosen(first, tuple(rest), remark)


def deprecation_of(value: Node) -> tuple[bool, str]:
    """Returns whether a value of ``owl:deprecated`` retires what it is said of, and a remark where it is no boolean.

    >>> deprecation_of(Literal("yes", "en", ""))
    (True, "owl:deprecated is 'yes', a text in en instead of a boolean; read as retired")
    """
    text = value.text if isinstance(value, Literal) else str(value)
    retired = text.strip().lower() in YES
    is_boolean = isinstance(value, Literal) and value.datatype.endswith("#boolean")
    if is_boolean and text.strip() in ("true", "false", "1", "0"):
        return retired, ""
    kind = "an address instead of a boolean"
    if is_boolean:
        kind = "which is not how a boolean is written"
    elif isinstance(value, Literal):
        kind = f"a text in {value.language}" if value.language else "a text"
        kind = f"typed as {value.datatype.rpartition('#')[2]}" if value.datatype else kind
        kind += " instead of a boolean"
    return retired, f"owl:deprecated is {text!r}, {kind}; read as {'retired' if retired else 'not retired'}"
