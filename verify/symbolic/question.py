"""Ask z3 whether truth values can all hold: linear and nonlinear integer arithmetic.

Reads and opaque values are free within their range, so an answer "no" is about any
contents of memory; an answer "yes" is a candidate that has to be run before it is
believed.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from verify.solver import z3_interface

from .terms import BOOL, INT, Term

_RENEW_AFTER = 400


class Solver:
    """A z3 context that answers one question after another.

    Attributes:
        asked: Questions that went to z3.
    """

    def __init__(self) -> None:
        self.api = z3_interface()
        self.context: Any = None
        self.asked = 0

    def _renew(self) -> None:
        api = self.api
        if self.context is not None:
            api.Z3_del_context(self.context)
        config = api.Z3_mk_config()
        self.context = context = api.Z3_mk_context(config)
        api.Z3_del_config(config)
        self.sort = api.Z3_mk_int_sort(context)
        self.truth = api.Z3_mk_bool_sort(context)
        self.memo: dict[Term, Any] = {}
        self.zero = api.Z3_mk_int64(context, 0, self.sort)
        self.minus = api.Z3_mk_int64(context, -1, self.sort)

    def close(self) -> None:
        """Free what z3 holds."""
        if self.context is not None:
            self.api.Z3_del_context(self.context)
            self.context = None

    def satisfy(
        self, formulas: Iterable[Term], timeout: float
    ) -> dict[Term, int | bool] | bool | None:
        """Look for values of the free terms with which all formulas hold.

        Args:
            formulas: Truth values.
            timeout: Limit of the search [seconds].

        Returns:
            The values; ``False`` where there are none; ``None`` at the limit.
        """
        parts = list(formulas)
        if any(part.kind == "false" for part in parts):
            return False
        if self.context is None or self.asked % _RENEW_AFTER == _RENEW_AFTER - 1:
            self._renew()
        self.asked += 1
        api, context = self.api, self.context
        self.free: dict[Term, Any] = {}
        self.reached: set[Term] = set()
        asserted = [self._encode(part) for part in parts]
        for part in parts:
            self._collect(part)
        solver = api.Z3_mk_simple_solver(context)
        api.Z3_solver_inc_ref(context, solver)
        try:
            self._limit(solver, timeout)
            for ast in asserted:
                api.Z3_solver_assert(context, solver, ast)
            for term, ast in self.free.items():
                self._assert_range(solver, term, ast)
            answer = api.Z3_solver_check(context, solver)
            if answer == -1:
                return False
            if answer == 1:
                return self._values(solver)
            reason = api.Z3_solver_get_reason_unknown(context, solver)
            if "keyboard" in reason:
                raise KeyboardInterrupt
            return None
        finally:
            api.Z3_solver_dec_ref(context, solver)

    def _limit(self, solver: Any, timeout: float) -> None:
        api, context = self.api, self.context
        parameters = api.Z3_mk_params(context)
        api.Z3_params_inc_ref(context, parameters)
        symbol = api.Z3_mk_string_symbol(context, "timeout")
        limit = max(1, int(timeout * 1000))
        api.Z3_params_set_uint(context, parameters, symbol, limit)
        api.Z3_solver_set_params(context, solver, parameters)
        api.Z3_params_dec_ref(context, parameters)

    def _collect(self, root: Term) -> None:
        stack = [root]
        while stack:
            node = stack.pop()
            if node in self.reached:
                continue
            self.reached.add(node)
            if node.kind in ("symbol", "read", "opaque", "poison"):
                self.free[node] = self.memo[node]
                continue
            stack.extend(arg for arg in _meant(node) if isinstance(arg, Term))

    def _assert_range(self, solver: Any, term: Term, ast: Any) -> None:
        api, context = self.api, self.context
        if term.sort != INT:
            return
        if term.low is not None:
            low = self._number(term.low)
            api.Z3_solver_assert(context, solver, api.Z3_mk_le(context, low, ast))
        if term.high is not None:
            high = self._number(term.high)
            api.Z3_solver_assert(context, solver, api.Z3_mk_le(context, ast, high))

    def _values(self, solver: Any) -> dict[Term, int | bool]:
        api, context = self.api, self.context
        model = api.Z3_solver_get_model(context, solver)
        api.Z3_model_inc_ref(context, model)
        values: dict[Term, int | bool] = {}
        for term, ast in self.free.items():
            found = (api.Ast * 1)()
            api.Z3_model_eval(context, model, ast, True, found)
            if term.sort == BOOL:
                values[term] = api.Z3_get_bool_value(context, found[0]) == 1
            elif term.sort == INT:
                values[term] = int(api.Z3_get_numeral_string(context, found[0]))
        api.Z3_model_dec_ref(context, model)
        return values

    def _number(self, value: int) -> Any:
        if -(2**62) < value < 2**62:
            return self.api.Z3_mk_int64(self.context, value, self.sort)
        return self.api.Z3_mk_numeral(self.context, str(value), self.sort)

    def _encode(self, term: Term) -> Any:
        memo = self.memo
        stack = [term]
        while stack:
            node = stack[-1]
            if node in memo:
                stack.pop()
                continue
            if node.kind in ("symbol", "read", "opaque", "poison"):
                memo[node] = self._constant(node)
                continue
            missing = [a for a in _meant(node) if isinstance(a, Term) and a not in memo]
            if missing:
                stack.extend(missing)
                continue
            memo[node] = self._node(node)
            stack.pop()
        return memo[term]

    def _constant(self, node: Term) -> Any:
        api, context = self.api, self.context
        symbol = api.Z3_mk_string_symbol(context, f"v{len(self.memo)}")
        sort = self.truth if node.sort == BOOL else self.sort
        return api.Z3_mk_const(context, symbol, sort)

    def _array(self, parts: Sequence[Any]) -> Any:
        found = (self.api.Ast * len(parts))()
        for index, part in enumerate(parts):
            found[index] = part
        return found

    def _node(self, node: Term) -> Any:
        api, context, kind = self.api, self.context, node.kind
        if kind == "const":
            return self._number(node.args[0])
        if kind == "true":
            return api.Z3_mk_true(context)
        if kind == "false":
            return api.Z3_mk_false(context)
        if kind in ("fit", "beside"):
            return self.memo[node.args[0]]
        args = [self.memo[arg] for arg in node.args]
        if kind == "add":
            return api.Z3_mk_add(context, 2, self._array(args))
        if kind == "mul":
            return api.Z3_mk_mul(context, 2, self._array(args))
        if kind in ("div", "mod"):
            return self._quotient(node, *args)
        if kind == "ite":
            return api.Z3_mk_ite(context, *args)
        if kind == "le":
            return api.Z3_mk_le(context, *args)
        if kind == "eq":
            return api.Z3_mk_eq(context, *args)
        if kind == "not":
            return api.Z3_mk_not(context, args[0])
        make = {"and": api.Z3_mk_and, "or": api.Z3_mk_or}[kind]
        return make(context, len(args), self._array(args))

    def _quotient(self, node: Term, a: Any, b: Any) -> Any:
        """Return floor division or its remainder; z3's rounds down for ``b > 0``."""
        api, context = self.api, self.context
        down = api.Z3_mk_div(context, a, b)
        divisor = node.args[1]
        if divisor.low is None or divisor.low <= 0:
            minus = [
                api.Z3_mk_mul(context, 2, self._array((self.minus, x))) for x in (a, b)
            ]
            positive = api.Z3_mk_lt(context, self.zero, b)
            down = api.Z3_mk_ite(
                context, positive, down, api.Z3_mk_div(context, *minus)
            )
        elif node.kind == "mod":
            return api.Z3_mk_mod(context, a, b)
        if node.kind == "div":
            return down
        product = api.Z3_mk_mul(context, 2, self._array((b, down)))
        return api.Z3_mk_sub(context, 2, self._array((a, product)))


def _meant(node: Term) -> tuple[Any, ...]:
    """Return the arguments that a node's value depends on."""
    return node.args[:1] if node.kind in ("fit", "beside") else node.args
