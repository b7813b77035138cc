"""Terms in the words of a person: ``pid_x * 64 + lane0 < M``."""

from .terms import Term

_SIGNS = {"add": "+", "mul": "*", "div": "//", "mod": "%", "le": "<=", "eq": "=="}
MAX_DEPTH = 40


def spell(term: Term, depth: int = MAX_DEPTH) -> str:
    """Return the term as text.

    Example:
        >>> from .terms import add, constant, mul, symbol
        >>> spell(add(mul(symbol("pid_x"), constant(64)), symbol("lane0:64")))
        '64 * pid_x + lane0'
    """
    return _spell(term, depth, 0)


_STRENGTH = {"le": 1, "eq": 1, "add": 2, "mul": 3, "div": 3, "mod": 3}


def _spell(term: Term, depth: int, outer: int) -> str:
    kind, args = term.kind, term.args
    if depth == 0:
        return "..."
    if kind == "const":
        return str(args[0])
    if kind == "symbol":
        return str(args[0]).partition(":")[0]
    if kind in ("true", "false"):
        return kind
    if kind in ("fit", "beside"):
        return _spell(args[0], depth, outer)
    if kind in _SIGNS:
        mine = _STRENGTH[kind]
        left = _spell(args[0], depth - 1, mine)
        right = _spell(args[1], depth - 1, mine + (kind != "add"))
        text = f"{left} {_SIGNS[kind]} {right}"
        return f"({text})" if mine < outer else text
    if kind == "not" and args[0].kind == "le":
        right, left = (_spell(a, depth - 1, 2) for a in args[0].args)
        text = f"{left} < {right}"
        return f"({text})" if outer > 1 else text
    if kind == "not":
        return f"not {_spell(args[0], depth - 1, 9)}"
    if kind in ("and", "or"):
        text = f" {kind} ".join(_spell(a, depth - 1, 1) for a in args)
        return f"({text})" if outer else text
    if kind == "ite":
        test, then, other = (_spell(a, depth - 1, 0) for a in args)
        return f"({then} if {test} else {other})"
    if kind == "read":
        return f"{args[0]}[{_spell(args[2], depth - 1, 0)}]"
    if kind == "pointer":
        return f"{args[0]} + {_spell(args[1], depth - 1, 2)}"
    inner = ", ".join(
        _spell(a, depth - 1, 0) if isinstance(a, Term) else str(a) for a in args
    )
    return f"{kind}({inner})"
