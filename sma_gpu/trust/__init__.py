"""When to answer, how sure, and when something is new."""

from .abstention import NOTHING_FITS, Abstention, why_abstain
from .calibration import Calibration
from .calibration_parts import RestsOn
from .confidence import confidence
from .fitting import fit
from .folds import grouped_folds, join_alike
from .novelty import novelty
from .signals import PLACES, Signals, signals_of
from .thresholds import Threshold

__all__ = [
    "NOTHING_FITS",
    "PLACES",
    "Abstention",
    "Calibration",
    "RestsOn",
    "Signals",
    "Threshold",
    "confidence",
    "fit",
    "grouped_folds",
    "join_alike",
    "novelty",
    "signals_of",
    "why_abstain",
]
