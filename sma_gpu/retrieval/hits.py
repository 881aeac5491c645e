"""The answer to a batch, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import CaseError, DataMissing
from ..scoring.grid import GRID
from .mappings import Mappings

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

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
        mappings: the mapping of every hit, where it was asked for.
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
    mappings: Mappings | None = None

    @property
    def optimal(self) -> npt.NDArray[np.bool_]:
        """Whether each hit's mapping is proved best, bool ``[B, K]``."""
        return np.equal(self.score_q, self.limit_q)

    def __len__(self) -> int:
        return len(self.query_keys)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Returns the columns of the table of hits, one row a hit, by query and then by rank.

        Returns:
            By name and in this order: ``query`` (text, object), ``rank`` (int32), ``key`` (text, object),
            ``score_bits`` (float64, exact below 2^53 units), ``optimal`` (bool), ``rank_key`` (int64), and of the query
            ``certified`` (bool) and ``aligned`` (int64). The tables of pandas, polars and Arrow have the same columns,
            in this order and of these types.
        """
        row, place = np.nonzero(self.rank)
        queries = np.empty(len(self.query_keys), dtype=object)
        queries[:] = self.query_keys
        return {
            "query": queries[row],
            "rank": self.rank[row, place],
            "key": self.keys[row, place],
            "score_bits": self.score_q[row, place] / GRID,
            "optimal": self.optimal[row, place],
            "rank_key": self.rank_keys[row, place],
            "certified": self.certified[row],
            "aligned": self.aligned[row],
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Returns one row a hit; ``columns`` says which columns it has.

        Raises:
            DataMissing: pandas is not installed.
            CaseError: a key is no whole text.
        """
        try:
            import pandas
        except ImportError as fault:
            raise _missing("pandas") from fault
        return pandas.DataFrame(
            {
                name: pandas.Series(column, dtype=str if column.dtype == object else column.dtype)
                for name, column in self._whole_texts("pandas").items()
            }
        )

    def to_polars(self) -> polars.DataFrame:
        """Returns one row a hit; ``columns`` says which columns it has.

        Raises:
            DataMissing: polars is not installed.
            CaseError: a key is no whole text.
        """
        try:
            import polars
        except ImportError as fault:
            raise _missing("polars") from fault
        return polars.DataFrame(
            [
                polars.Series(name, column.tolist(), dtype=polars.String)
                if column.dtype == object
                else polars.Series(name, column)
                for name, column in self._whole_texts("polars").items()
            ]
        )

    def to_arrow(self) -> pyarrow.Table:
        """Returns one row a hit; ``columns`` says which columns it has.

        Raises:
            DataMissing: pyarrow is not installed.
            CaseError: a key is no whole text.
        """
        try:
            import pyarrow
        except ImportError as fault:
            raise _missing("pyarrow") from fault
        return pyarrow.table(
            {
                name: pyarrow.array(column, pyarrow.string() if column.dtype == object else None)
                for name, column in self._whole_texts("arrow").items()
            }
        )

    def _whole_texts(self, form: str) -> dict[str, npt.NDArray[Any]]:
        """Returns the columns, whose texts can all be written as UTF-8."""
        columns = self.columns()
        for name in ("query", "key"):
            for text in columns[name].tolist():
                try:
                    text.encode("utf-8")
                except UnicodeEncodeError as fault:
                    raise CaseError(
                        f"Hits.to_{form}()",
                        f"the key {text!a} holds half a character",
                        "Give cases keys of whole characters.",
                    ) from fault
        return columns


def _missing(package: str) -> DataMissing:
    form = package.removeprefix("py")
    return DataMissing(f"Hits.to_{form}()", f"{package} is not installed", 'Run: pip install "sma_gpu[frames]"')
