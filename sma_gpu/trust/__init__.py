"""When to answer, how sure, and when something is new."""

from .abstention import why_abstain
from .confidence import confidence, novelty

__all__ = ["confidence", "novelty", "why_abstain"]
