"""Shares in words, the same in every form of an answer."""

from __future__ import annotations

__all__ = ["percent"]


def percent(share: float, gap: str = "") -> str:
    """Returns a share as a percentage; only what is nothing reads 0%, and only what is whole reads 100%.

    Args:
        share: in [0, 1].
        gap: what stands between the number and its sign.

    Example:
        >>> percent(0.764), percent(0.0001), percent(0.9999), percent(1.0, " ")
        ('76%', '<1%', '>99%', '100 %')
    """
    shown = round(100 * share)
    if shown <= 0 < share:
        return f"<1{gap}%"
    if shown >= 100 and share < 1:
        return f">99{gap}%"
    return f"{shown}{gap}%"
