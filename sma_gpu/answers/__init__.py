"""Answers: a domain opened as an engine, its answers as plain objects, as text, and line by line for a batch."""

from .engine import Engine
from .opening import open_engine

__all__ = ["Engine", "open_engine"]
