"""The waist between formulas and solvers: nothing else imports z3 or bitwuzla.

``prove(claim)`` asks a solver for values that make the claim false. None exist:
``Proved``. Some exist: ``Refuted`` with the values. The solver gave up at the limit:
``Unknown`` with that limit. z3 answers small questions in about a millisecond and is
the one for concrete sizes; bitwuzla is faster with symbolic sizes; ``"both"`` needs
the two to agree.

Terms are natural numbers; the width of the bit-vectors is the smallest in which no
term of the question overflows, so the answer is about the numbers.
"""

import time
from collections.abc import Iterable
from typing import Any, Protocol

from algebra.errors import OutOfRangeError
from algebra.verdict import Proved, Refuted, Unknown, Verdict

from .terms import Formula, Term, all_of, negate

Z3 = "z3"
BITWUZLA = "bitwuzla"
BOTH = "both"
_QUESTIONS_PER_CONTEXT = 4000


class Backend(Protocol):
    """A solver that looks for values which satisfy a formula."""

    name: str

    def satisfy(
        self, formula: Formula, width: int, timeout: float
    ) -> dict[str, int] | bool | None:
        """Return values, ``False`` where there are none, ``None`` at the limit."""


def variables_of(formula: Formula) -> dict[str, int]:
    """Return each variable of a formula with its number of bits."""
    found: dict[str, int] = {}
    seen: set[int] = set()
    stack: list[Any] = [formula]
    while stack:
        node = stack.pop()
        if id(node) in seen or not isinstance(node, Term | Formula):
            continue
        seen.add(id(node))
        if node.kind == "var":
            found[node.args[0]] = node.args[1]
        else:
            stack.extend(node.args)
    return found


def width_of(formula: Formula) -> int:
    """Return a number of bits in which no term of the formula overflows."""
    reach = 1
    seen: set[int] = set()
    stack: list[Any] = [formula]
    while stack:
        node = stack.pop()
        if id(node) in seen or not isinstance(node, Term | Formula):
            continue
        seen.add(id(node))
        if isinstance(node, Term):
            reach = max(reach, node.ones.bit_length())
        stack.extend(node.args)
    return reach


def z3_interface() -> Any:
    """Return z3's C functions, for questions about integers (``verify.symbolic``)."""
    from z3 import z3core

    return z3core


class _Z3:
    """z3 through its C interface: the Python classes cost more than the proofs."""

    name = Z3

    def __init__(self) -> None:
        from z3 import z3core

        self.api = z3core
        self.context: Any = None
        self.solver: Any = None
        self.questions = 0

    def _renew(self) -> None:
        """Start a context that owns its terms, so that none is counted one by one."""
        api = self.api
        if self.context is not None:
            api.Z3_solver_dec_ref(self.context, self.solver)
            api.Z3_del_context(self.context)
        config = api.Z3_mk_config()
        self.context = context = api.Z3_mk_context(config)
        api.Z3_del_config(config)
        logic = api.Z3_mk_string_symbol(context, "QF_BV")
        self.solver = api.Z3_mk_solver_for_logic(context, logic)
        api.Z3_solver_inc_ref(context, self.solver)
        self.timeout = 0
        self.questions = 0
        self.sorts: dict[int, Any] = {}
        self.numbers: dict[tuple[int, int], Any] = {}
        self.variables: dict[tuple[str, int], Any] = {}

    def satisfy(
        self, formula: Formula, width: int, timeout: float
    ) -> dict[str, int] | bool | None:
        if self.context is None or self.questions >= _QUESTIONS_PER_CONTEXT:
            self._renew()
        self.questions += 1
        api, context, solver = self.api, self.context, self.solver
        self.width = width
        self.memo: dict[int, Any] = {}
        self.asked: dict[str, Any] = {}
        # most questions about concrete sizes end here, in z3's rewriter
        question = api.Z3_simplify(context, self._formula(formula))
        if api.Z3_get_bool_value(context, question) == -1:
            return False
        api.Z3_solver_reset(context, solver)
        limit = max(1, int(timeout * 1000))
        if limit != self.timeout:
            parameters = api.Z3_mk_params(context)
            api.Z3_params_inc_ref(context, parameters)
            symbol = api.Z3_mk_string_symbol(context, "timeout")
            api.Z3_params_set_uint(context, parameters, symbol, limit)
            api.Z3_solver_set_params(context, solver, parameters)
            api.Z3_params_dec_ref(context, parameters)
            self.timeout = limit
        api.Z3_solver_assert(context, solver, question)
        answer = api.Z3_solver_check(context, solver)
        if answer == -1:
            return False
        if answer == 1:
            return self._values()
        # z3 takes an interrupt for itself; it is the user's, who wants to stop
        if "keyboard" in api.Z3_solver_get_reason_unknown(context, solver):
            raise KeyboardInterrupt
        return None

    def _values(self) -> dict[str, int]:
        api, context = self.api, self.context
        model = api.Z3_solver_get_model(context, self.solver)
        api.Z3_model_inc_ref(context, model)
        values = {}
        for name, ast in self.asked.items():
            found = (api.Ast * 1)()
            api.Z3_model_eval(context, model, ast, True, found)
            values[name] = int(api.Z3_get_numeral_string(context, found[0]))
        api.Z3_model_dec_ref(context, model)
        return values

    def _number(self, value: int) -> Any:
        key = (value, self.width)
        ast = self.numbers.get(key)
        if ast is None:
            ast = self.api.Z3_mk_numeral(self.context, str(value), self._sort())
            self.numbers[key] = ast
        return ast

    def _sort(self, width: int | None = None) -> Any:
        width = width or self.width
        sort = self.sorts.get(width)
        if sort is None:
            sort = self.sorts[width] = self.api.Z3_mk_bv_sort(self.context, width)
        return sort

    def _variable(self, name: str, bits: int) -> Any:
        api, context = self.api, self.context
        key = (name, bits)
        ast = self.variables.get(key)
        if ast is None:
            symbol = api.Z3_mk_string_symbol(context, name)
            ast = api.Z3_mk_const(context, symbol, self._sort(bits))
            self.variables[key] = ast
        self.asked[name] = ast
        missing = self.width - bits
        return api.Z3_mk_zero_ext(context, missing, ast) if missing else ast

    def _term(self, term: Term) -> Any:
        ast = self.memo.get(id(term))
        if ast is not None:
            return ast
        kind, args = term.kind, term.args
        api, context = self.api, self.context
        if kind == "const":
            ast = self._number(args[0])
        elif kind == "var":
            ast = self._variable(*args)
        elif kind == "ite":
            ast = api.Z3_mk_ite(
                context,
                self._formula(args[0]),
                self._term(args[1]),
                self._term(args[2]),
            )
        else:
            make = {
                "add": api.Z3_mk_bvadd,
                "sub": api.Z3_mk_bvsub,
                "or": api.Z3_mk_bvor,
                "and": api.Z3_mk_bvand,
                "xor": api.Z3_mk_bvxor,
                "shl": api.Z3_mk_bvshl,
                "shlv": api.Z3_mk_bvshl,
                "lshr": api.Z3_mk_bvlshr,
                "lshrv": api.Z3_mk_bvlshr,
            }[kind]
            right = args[1]
            second = (
                self._term(right) if isinstance(right, Term) else self._number(right)
            )
            ast = make(context, self._term(args[0]), second)
        self.memo[id(term)] = ast
        return ast

    def _formula(self, formula: Formula) -> Any:
        kind, args = formula.kind, formula.args
        api, context = self.api, self.context
        if kind == "eq":
            return api.Z3_mk_eq(context, self._term(args[0]), self._term(args[1]))
        if kind == "ult":
            return api.Z3_mk_bvult(context, self._term(args[0]), self._term(args[1]))
        if kind == "not":
            return api.Z3_mk_not(context, self._formula(args[0]))
        if kind == "true":
            return api.Z3_mk_true(context)
        if kind == "false":
            return api.Z3_mk_false(context)
        parts = (api.Ast * len(args))()
        for index, part in enumerate(args):
            parts[index] = self._formula(part)
        make = api.Z3_mk_and if kind == "and" else api.Z3_mk_or
        return make(context, len(args), parts)


class _Bitwuzla:
    """bitwuzla, one instance a question."""

    name = BITWUZLA

    def __init__(self) -> None:
        import bitwuzla

        self.api = bitwuzla
        kinds = bitwuzla.Kind
        self.kinds = {
            "add": kinds.BV_ADD,
            "sub": kinds.BV_SUB,
            "or": kinds.BV_OR,
            "and": kinds.BV_AND,
            "xor": kinds.BV_XOR,
            "shl": kinds.BV_SHL,
            "shlv": kinds.BV_SHL,
            "lshr": kinds.BV_SHR,
            "lshrv": kinds.BV_SHR,
        }

    def satisfy(
        self, formula: Formula, width: int, timeout: float
    ) -> dict[str, int] | bool | None:
        api = self.api
        self.manager = manager = api.TermManager()
        options = api.Options()
        options.set(api.Option.TIME_LIMIT_PER, max(1, int(timeout * 1000)))
        options.set(api.Option.PRODUCE_MODELS, True)
        solver = api.Bitwuzla(manager, options)
        self.width = width
        self.sort = manager.mk_bv_sort(width)
        self.memo: dict[int, Any] = {}
        self.asked: dict[str, Any] = {}
        solver.assert_formula(self._formula(formula))
        answer = solver.check_sat()
        if answer == api.Result.UNSAT:
            return False
        if answer != api.Result.SAT:
            return None
        return {
            name: int(solver.get_value(ast).value(10))
            for name, ast in self.asked.items()
        }

    def _term(self, term: Term) -> Any:
        ast = self.memo.get(id(term))
        if ast is not None:
            return ast
        kind, args, manager = term.kind, term.args, self.manager
        if kind == "const":
            ast = manager.mk_bv_value(self.sort, args[0])
        elif kind == "var":
            ast = self._variable(*args)
        elif kind == "ite":
            ast = manager.mk_term(
                self.api.Kind.ITE,
                [self._formula(args[0]), self._term(args[1]), self._term(args[2])],
            )
        else:
            right = args[1]
            second = (
                self._term(right)
                if isinstance(right, Term)
                else manager.mk_bv_value(self.sort, right)
            )
            ast = manager.mk_term(self.kinds[kind], [self._term(args[0]), second])
        self.memo[id(term)] = ast
        return ast

    def _variable(self, name: str, bits: int) -> Any:
        manager = self.manager
        if name not in self.asked:
            self.asked[name] = manager.mk_const(manager.mk_bv_sort(bits), name)
        missing = self.width - bits
        ast = self.asked[name]
        if not missing:
            return ast
        return manager.mk_term(self.api.Kind.BV_ZERO_EXTEND, [ast], [missing])

    def _formula(self, formula: Formula) -> Any:
        kind, args, manager = formula.kind, formula.args, self.manager
        kinds = self.api.Kind
        if kind in ("eq", "ult"):
            make = kinds.EQUAL if kind == "eq" else kinds.BV_ULT
            return manager.mk_term(make, [self._term(args[0]), self._term(args[1])])
        if kind in ("true", "false"):
            return manager.mk_true() if kind == "true" else manager.mk_false()
        make = {"not": kinds.NOT, "and": kinds.AND, "or": kinds.OR}[kind]
        return manager.mk_term(make, [self._formula(part) for part in args])


_BACKENDS: dict[str, Backend] = {}


def _backend(name: str) -> Backend:
    if name not in _BACKENDS:
        _BACKENDS[name] = _Z3() if name == Z3 else _Bitwuzla()
    return _BACKENDS[name]


def prove(
    claim: Formula,
    assumptions: Iterable[Formula] = (),
    *,
    solver: str = Z3,
    timeout: float = 10.0,
) -> Verdict:
    """Decide whether a claim holds for all values of its variables.

    Law: ``Proved`` means ``holds(claim, values)`` for all values within the bits of
    the variables that satisfy the assumptions.

    Args:
        claim: What should hold.
        assumptions: What may be taken for granted.
        solver: ``"z3"``, ``"bitwuzla"``, or ``"both"``: then both must agree.
        timeout: Limit for each solver [seconds].

    Returns:
        ``Proved`` whose facts name the seconds of each solver, ``Refuted`` whose
        counterexample maps each variable to an int, or ``Unknown`` with the limit.

    Raises:
        OutOfRangeError: no such solver, or no such limit.

    Example:
        >>> from .terms import equal, variable
        >>> x = variable("x", 8)
        >>> prove(equal(x // 4 * 4 + x % 4, x)).method
        'z3'
        >>> prove(equal(x // 4 * 4, x)).counterexample["x"] % 4 != 0
        True

    Source: Alive2's rule that a time-out is never an answer.
    """
    if solver not in (Z3, BITWUZLA, BOTH):
        raise OutOfRangeError(
            f"solver must be one of {[Z3, BITWUZLA, BOTH]}, got solver={solver!r}; "
            "choose one of them"
        )
    if not 0 < timeout < 1e6:
        raise OutOfRangeError(
            f"timeout must be seconds above 0 and below 1e6, got timeout={timeout!r}; "
            "10.0 is enough for concrete sizes"
        )
    question = all_of((*assumptions, negate(claim)))
    width = width_of(question)
    names = (Z3, BITWUZLA) if solver == BOTH else (solver,)
    facts: list[tuple[str, Any]] = []
    answers: list[dict[str, int] | bool] = []
    for name in names:
        start = time.perf_counter()
        answer = _backend(name).satisfy(question, width, timeout)
        seconds = time.perf_counter() - start
        facts.append((f"{name}_seconds", seconds))
        if answer is None:
            return Unknown(f"time-out: {name} gave no answer within {timeout:g} s")
        answers.append(answer)
    models = [answer for answer in answers if answer is not False]
    if models and len(models) < len(answers):
        return Unknown(
            f"the solvers disagree: {dict(zip(names, answers, strict=True))}"
        )
    if models:
        return Refuted(models[0])
    return Proved(" and ".join(names), tuple(facts))
