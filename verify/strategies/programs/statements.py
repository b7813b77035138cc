"""Python statements for programs that test capture: name -> template.

Holes: ``{T}`` a tensor expression, ``{N}`` a whole number, ``{C}`` a condition, ``{D}``
a condition on the data of a tensor, ``{a}`` a local tensor, ``{v}`` a new name for a
tensor, ``{w}`` a new name for anything else, ``{B}`` a block of statements, indented.
Names ``s0`` (a list), ``d0`` (a dict), ``o0`` (a dataclass), ``l0`` (a list of tensors)
and ``STATE`` (a global) are there in every program; what is done to them is a side
effect that has to be that of plain execution.
"""

TENSOR_EXPRESSIONS = (
    "{a}",
    "{a} + {a}",
    "{a} * {N}",
    "torch.relu({a})",
    "{a} - {a}",
    "-{a}",
    "{a}.clamp(-8, 8)",
    "torch.where({a} > {a}, {a}, {a})",
    "o0.a + {a}",
    "l0[0] + {a}",
    "l0[-1] * {N}",
    "({a} if {C} else {a} + 1)",
    "torch.maximum({a}, {a})",
    "sum(l0) + {a}",
    "{a}.flip(0)",
)
"""Expressions of one shape, simplest first."""

NUMBER_EXPRESSIONS = (
    "1",
    "2",
    "len(s0)",
    "o0.n",
    "x0.dim()",
    "x0.shape[0]",
    "d0['a']",
    "STATE['count']",
    "max(1, len(d0))",
    "sum(s0[:2])",
    "{N} + 1",
    "{N} % 3",
    "int({C})",
)
"""Whole numbers that stay small."""

CONDITIONS = (
    "True",
    "{N} > 1",
    "{N} % 2 == 0",
    "'a' in d0",
    "'z' in d0",
    "1 in s0",
    "0 < {N} < 3",
    "isinstance(o0, Box)",
    "hasattr(o0, 'b')",
    "{a} is x0",
    "not s0",
    "({C}) or {N} == 2",
    "({C}) and {N} != 1",
    "all(n > 0 for n in s0)",
    "{a}.shape == x0.shape",
    "callable(combined)",
)
"""Conditions that capture can decide."""

DATA_CONDITIONS = (
    "{a}.sum() > 0",
    "bool(({a} > 1).any())",
    "{a}.flatten()[0].item() > {N}",
    "float({a}.max()) >= 2.0",
    "int({a}.flatten()[0]) % 2 == 0",
)
"""Conditions that need the data of a tensor."""

BLOCKS = {
    "assign": "{v} = {T}",
    "number": "{w} = {N}\n{v} = {a} * {w}",
    "update": "{a} = {T}",
    "if": "if {C}:\n    {B}\nelse:\n    {B}",
    "if_data": "if {D}:\n    {B}\nelse:\n    {B}",
    "early_return": "if {C}:\n    return {RETURN}",
    "early_return_data": "if {D}:\n    return {RETURN}",
    "for_range": "for {w} in range({N}):\n    {B}",
    "for_break": (
        "for {w} in range(4):\n    if {w} == {N}:\n        break\n    {B}\n"
        "else:\n    s0.append({w})"
    ),
    "for_continue": (
        "for {w}, item in enumerate([3, 1, 2]):\n    if item == {N}:\n"
        "        continue\n    {B}"
    ),
    "for_list": "for item in l0:\n    {a} = {a} + item",
    "for_zip": "for n, item in zip(s0, l0):\n    {a} = {a} + item * n",
    "for_dict": "for key, n in sorted(d0.items()):\n    {a} = {a} * n",
    "while": "{w} = 0\nwhile {w} < {N}:\n    {w} += 1\n    {B}",
    "while_data": ("{w} = 0\nwhile {D} and {w} < 3:\n    {w} += 1\n    {a} = {a} - 1"),
    "comprehension": "{v} = sum([{a} * n for n in range({N}) if n != 1], {T})",
    "nested_comprehension": (
        "{v} = {a} + sum(i * j for i in range({N}) for j in range(i + 1))"
    ),
    "dict_comprehension": (
        "{w} = {{key: {a} * n for key, n in d0.items()}}\n{v} = {w}['a'] + {T}"
    ),
    "set_comprehension": "s0.extend(sorted({{n % 3 for n in range({N} + 2)}}))",
    "closure": (
        "def {w}(y, n={N}):\n    return y * n + {a}\n\n{v} = {w}({T}) + {w}({a}, n=2)"
    ),
    "nonlocal": (
        "{w} = {N}\ndef grow_{w}():\n    nonlocal {w}\n    {w} += 1\n    return {w}\n\n"
        "{v} = {a} * grow_{w}() + grow_{w}()\ns0.append({w})"
    ),
    "late_binding": (
        "{w} = [lambda y: y * n for n in range(3)]\n{v} = {w}[0]({T}) + {w}[2]({a})"
    ),
    "default_binding": (
        "{w} = [lambda y, n=n: y * n for n in range(3)]\n{v} = {w}[1]({T})"
    ),
    "recursion": (
        "def {w}(y, n):\n    return y if n <= 0 else {w}(y + n, n - 1)\n\n"
        "{v} = {w}({T}, {N})"
    ),
    "decorator": "@doubled\ndef {w}(y):\n    return y + {N}\n\n{v} = {w}({T})",
    "map_filter": "{v} = {a} + sum(map(lambda n: n * 2, filter(None, s0)))",
    "sorted_key": "s0[:] = sorted(s0, key=lambda n: -n)\n{v} = {a} * s0[0]",
    "star_args": "{v} = combined({a}, *l0, scale={N})",
    "star_kwargs": "{v} = combined({T}, **{{'one': {a}, 'two': {a}}})",
    "unpack": "{w}, *rest = [{N}, *s0]\n{v} = {a} * {w} + len(rest)",
    "swap": "{w} = {T}\n{a}, {w} = {w}, {a}\n{v} = {w} + 1",
    "walrus": "{v} = {a} + ({w} := {N})\ns0.append({w})",
    "chained": "{v} = {a} * (1 < {N} <= 4)",
    "f_string": "s0.append(len(f'{{{N}:03d}}-{{len(d0)}}'))",
    "text_method": "d0['_'.join(['k', str({N})])] = {N}",
    "match": (
        "match {N}:\n    case 1:\n        {B}\n    case 2 | 3:\n        {B}\n"
        "    case _:\n        {B}"
    ),
    "with": "with Counted(s0) as {w}:\n    {B}",
    "with_raises": (
        "with Counted(s0):\n    {a} = {a} + 1\n    raise KeyError('swallowed')"
    ),
    "no_grad": "with torch.no_grad():\n    {B}",
    "try": "try:\n    {B}\nfinally:\n    s0.append({N})",
    "try_key": "try:\n    {v} = {a} * d0['missing']\nexcept KeyError:\n    {v} = {T}",
    "try_index": (
        "try:\n    {a} = l0[{N}] + {a}\nexcept (IndexError, KeyError) as error:\n"
        "    s0.append(len(type(error).__name__))\nelse:\n    s0.append(0)"
    ),
    "try_value": (
        "try:\n    if {C}:\n        raise ValueError('expected')\n    {B}\n"
        "except ValueError as error:\n    {a} = {a} + len(str(error))"
    ),
    "try_data": (
        "try:\n    if {D}:\n        raise ValueError(1)\n    {B}\n"
        "except ValueError:\n    o0.n += 1"
    ),
    "append": "s0.append({N})",
    "pop": "{v} = {a} * (s0.pop() if s0 else 5)",
    "insert": "s0.insert(0, {N})",
    "extend": "s0.extend([{N}, {N}])",
    "slice_assign": "s0[1:] = [{N}]",
    "delete": "del s0[:1]",
    "reverse": "s0.reverse()",
    "list_alias": "{w} = s0\n{w} += [{N}]\n{v} = {a} + len(s0)",
    "list_copy": "{w} = list(s0)\n{w}.append({N})\n{v} = {a} + len(s0)",
    "append_tensor": "l0.append({T})",
    "replace_tensor": "l0[0] = {T}",
    "dict_set": "d0['b'] = {N}",
    "dict_update": "d0.update(c={N}, a=2)",
    "dict_setdefault": "{v} = {a} * d0.setdefault('e', {N})",
    "dict_pop": "{v} = {a} + d0.pop('b', {N})",
    "dict_tensor": "d0['t'] = {T}",
    "dict_order": "d0['a'] = d0.pop('a')",
    "attribute": "o0.n += {N}",
    "attribute_tensor": "o0.a = {T}",
    "attribute_new": "o0.b = {N}",
    "setattr": "setattr(o0, 'n', {N})",
    "method": "{v} = o0.grown({N})",
    "dataclass": "{w} = Box({T}, {N})\n{v} = {w}.a + {w}.n",
    "dataclass_replace": "{w} = dataclasses.replace(o0, n={N})\n{v} = {w}.a * {w}.n",
    "global": "STATE['count'] += 1\n{v} = {a} + STATE['count']",
    "generator": (
        "def {w}():\n    for n in range({N}):\n        yield {a} + n\n\n"
        "{v} = sum({w}(), {T})"
    ),
    "generator_next": (
        "def {w}():\n    s0.append(7)\n    yield {N}\n    s0.append(8)\n    yield 2\n\n"
        "{v} = {a} * next({w}())"
    ),
    "generator_expression": "{v} = {a} + sum(n * n for n in s0 if n > 0)",
    "yield_from": (
        "def {w}():\n    yield from l0\n    yield {T}\n\n"
        "{v} = torch.stack([*{w}()]).sum(0)"
    ),
    "in_place": "{a}.add_({N})",
    "in_place_alias": "{w} = {a}\n{w}.mul_({N})",
    "in_place_view": "{a}[0] = {N}",
    "in_place_attribute": "o0.a.add_({N})",
    "in_place_list": "l0[0].mul_({N})",
    "item": "{v} = {a} + {a}.flatten()[0].item()",
    "tolist": "s0.extend(int(n) % 5 for n in {a}.flatten()[:2].tolist())",
    "print_nothing": "print(end='')",
    "assert": "assert x0.dim() > 0, 'has dims'",
    "type_test": "{v} = {a} * 2 if type(o0) is Box and isinstance({N}, int) else {a}",
    "string_key": "{v} = {a} + sum(len(key) for key in d0)",
    "reduce": "{v} = max(s0, default={N}) * {a}",
    "tuple_unpack": "({v}, {w}) = ({T}, ({N}, {N}))\ns0.append({w}[1])",
    "starred_call": "{v} = torch.add(*[{a}, {T}])",
    "conditional_import": "import math\n{v} = {a} * math.floor(2.5)",
    "delete_name": "{w} = {N}\ndel {w}\n{v} = {T}",
    "lambda": "{v} = (lambda y, *rest: y + len(rest))({T}, 1, {N})",
    "graph_break": "torch._dynamo.graph_break()",
    "pass": "pass",
}
"""Statements; those with side effects on arguments are compared by what they leave."""
