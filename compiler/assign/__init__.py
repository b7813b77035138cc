"""Layouts for whole programs: every edge of a tile graph gets one, at least cost."""

from compiler.ir.evaluate_tile import run_tiles
from compiler.ir.tile import Tile, TileGraph, coordinate
from compiler.ir.tile_builder import TileBuilder, weighted

from .assign import arbitrary, assign
from .assignment import Assignment, Edge
from .simulate import simulate

__all__ = [
    "Assignment",
    "Edge",
    "Tile",
    "TileBuilder",
    "TileGraph",
    "arbitrary",
    "assign",
    "coordinate",
    "run_tiles",
    "simulate",
    "weighted",
]
