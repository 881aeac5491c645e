"""When to answer, how sure, and when something is new."""

from .abstention import NOTHING_FITS, Abstention, why_abstain
from .confidence import confidence, novelty

__all__ = ["NOTHING_FITS", "Abstention", "confidence", "novelty", "why_abstain"]
