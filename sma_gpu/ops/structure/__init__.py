"""Structure mapping of one pair of cases: hypotheses, kernel mappings, optimistic bounds, branch and bound."""

from .canonical import first_of_best
from .hypotheses import Hypotheses, hypotheses
from .search import NODE_BUDGET, Found, best_mapping

__all__ = ["NODE_BUDGET", "Found", "Hypotheses", "best_mapping", "first_of_best", "hypotheses"]
