"""Permutations of memory by invertible F2-affine maps of the index bits.

An index map A sends element i of the source to position A(i) of the destination:
``out[A(i)] = in[i]``. Memory moves in lines of 2**p elements. Let L be the span of
the low p bits of the index: the cosets of L are the lines of either side. The tile

    T = L + A^-1 L

has at most 2p bits; each coset of T is a union of whole source lines, and A maps it
onto a union of whole destination lines. So one pass moves whole lines on both sides,
for every A: load a tile, reorder it where it is fast, store it.

- ``index_map``: the map itself, packed, from any layout of the algebra.
- ``tile_plan``: the tile and its basis for a GPU program.
- ``line_plan``: the tile as lines and a reorder table for a CPU core.
- ``execute``: dispatch of tensors to the backends; ``api``: the public function.
"""
