"""The answer to a batch, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import DataMissing
from ..scoring.grid import GRID

if TYPE_CHECKING:
    import pandas

__all__ = ["Hits"]


@dataclass(frozen=True)
class Hits:
    """The best ``K = min(k, N)`` cases of ``B`` queries, out of ``N``.

    Places beyond a query's last hit hold key "", case -1, rank 0 and score 0.

    Attributes:
        query_keys: keys of the queries, ``B`` of them.
        keys: object ``[B, K]``, keys of the hits.
        cases: int32 ``[B, K]``, numbers of the hits in the index.
        score_q: int64 ``[B, K]``, structural evaluation scores in units of 2^-16 bit.
        limit_q: int64 ``[B, K]``, no mapping of the hit scores more; equal to ``score_q`` where that is proved best.
        rank_keys: int64 ``[B, K]``, what the order is by; not comparable between queries.
        rank: int32 ``[B, K]``, 1, 2, 3 and so on.
        certified: bool ``[B]``, the top k is proved to be that of scoring every case by its best mapping.
        aligned: int64 ``[B]``, number of cases whose bound alone does not place them after the k-th hit.
        backend: name of the backend that answered.
    """

    query_keys: tuple[str, ...]
    keys: npt.NDArray[np.object_]
    cases: npt.NDArray[np.int32]
    score_q: npt.NDArray[np.int64]
    limit_q: npt.NDArray[np.int64]
    rank_keys: npt.NDArray[np.int64]
    rank: npt.NDArray[np.int32]
    certified: npt.NDArray[np.bool_]
    aligned: npt.NDArray[np.int64]
    backend: str

    @property
    def optimal(self) -> npt.NDArray[np.bool_]:
        """Whether each hit's mapping is proved best, bool ``[B, K]``."""
        return np.equal(self.score_q, self.limit_q)

    def __len__(self) -> int:
        return len(self.query_keys)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns one row a hit: query, rank, key, score_bits, optimal, rank_key, certified, aligned.

        Raises:
            DataMissing: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as fault:
            raise DataMissing("Hits.to_pandas()", "pandas is not installed", "pip install pandas") from fault
        row, place = np.nonzero(self.rank)
        return pandas.DataFrame(
            {
                "query": np.array(self.query_keys, dtype=object)[row],
                "rank": self.rank[row, place],
                "key": self.keys[row, place],
                "score_bits": self.score_q[row, place] / GRID,
                "optimal": self.optimal[row, place],
                "rank_key": self.rank_keys[row, place],
                "certified": self.certified[row],
                "aligned": self.aligned[row],
            }
        )
