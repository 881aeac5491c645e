"""What the qualifier of an annotation says: NOT in any dress, and words that may mean it."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["NEGATED", "POSITIVE", "UNCLEAR", "QualifierText", "read_qualifier"]

POSITIVE, NEGATED, UNCLEAR = 0, 1, -1

_NOT = re.compile(r"\bnot\b", re.IGNORECASE)
_PARTNERS = re.compile(r"[|;,]")
# "noted" and "notable" are no negations, nor is "knot"; NOT_X, NOTPRESENT and !X may be.
_LIKE_NOT = re.compile(
    r"exclu|absent|negat|(?<![a-z])not(?!e|ic|if|able)|\A(?:no?|f(?:alse)?|-)\Z|\A[!¬~]", re.IGNORECASE
)


@dataclass(frozen=True)
class QualifierText:
    """What one qualifier field says.

    Attributes:
        sense: ``POSITIVE``, ``NEGATED``, or ``UNCLEAR``, where a row can be neither believed nor turned round.
        severity: ``"note"`` or ``"warning"`` where it is to be reported, else empty.
        remark: what is to be said about it.
    """

    sense: int
    severity: str = ""
    remark: str = ""


def read_qualifier(text: str) -> QualifierText:
    """Returns what the qualifier field ``text``, without blanks around it, says.

    A negation that is missed turns a sign that was ruled out into one that occurs, so a word that only looks like one
    costs the row.
    """
    if text in ("", "NOT"):
        return QualifierText(NEGATED if text else POSITIVE)
    written = _NOT.findall(text)
    if written and any(word != "NOT" for word in written):
        return QualifierText(NEGATED, "warning", "is not written in capitals; it is read as NOT")
    if written and not all(map(str.strip, _PARTNERS.split(text))):
        return QualifierText(NEGATED, "warning", "has an empty partner; it is read as NOT")
    if written:
        return QualifierText(NEGATED, "note", "is read as NOT")
    if _LIKE_NOT.search(text):
        return QualifierText(UNCLEAR, "warning", "may be a negation but is not NOT")
    return QualifierText(POSITIVE, "warning", "has no known meaning; the rows count as positive")
