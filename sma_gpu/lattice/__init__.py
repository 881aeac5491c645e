"""The is-a lattice as arrays: hops upward, closures, compatibility."""

from .lattice import HopTable, Lattice

__all__ = ["HopTable", "Lattice"]
