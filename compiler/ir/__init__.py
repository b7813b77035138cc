"""The one intermediate representation: scalar expressions, programs, kernels.

``expression`` has the hash-consed scalar graph, ``index`` and ``ranges`` what is known
of indices, ``operations`` the one table of scalar operations, ``node`` programs (one
node for each array of the captured graph) and ``kernel`` loop nests, which the printers
of ``codegen`` print.
"""
