"""Operations that read sizes: control flow, slices and shapes that follow them.

They are right at each size, so a program of these runs at several, and a compiler that
keeps sizes as symbols has to get each of them right.
"""

SIZES_READ = {
    "half": "{d1}[: {it}.shape[0] // 2]",
    "all_but_last": "{d1}[..., : {it}.shape[-1] - 1]",
    "rows_then_rest": "{d2}.reshape({it}.shape[0], -1)",
    "merge_first": "{d2}.flatten(0, 1)",
    "transpose_all": "{d1}.permute(*reversed(range({it}.dim())))",
    "by_length": "{f1} / {it}.size({dim})",
    "times_length": "{n1} * {it}.shape[0]",
    "plus_rank": "{n} + {it}.dim()",
    "count": "torch.tensor({t}.numel())",
    "positions_of": "torch.arange({d1}.shape[-1])",
    "full_of_length": "torch.full(({d1}.shape[0],), {it}.shape[0])",
    "new_zeros": "{d1}.new_zeros({it}.shape[-1], 2)",
    "pad_to_multiple": "F.pad({n1}, (0, -{it}.shape[-1] % 4))",
    "expand_to": "{t}.sum().expand({it}.shape)",
    "square_mask": "torch.ones({d1}.shape[0], {it}.shape[0]).tril()",
    "stack_times": "torch.stack([{few} * i for i in range({it}.shape[0])])",
    "sum_of_rows": "sum((row.sum() for row in {few}), torch.zeros(()))",
    "reversed_rows": "torch.stack([row + 1 for row in reversed({few}.unbind())])",
    "last_rows": "{d1}[-min({it}.shape[0], {k}) :]",
    "cat_itself": "torch.cat([{d1}, {it}[: {it}.shape[0] // 2]])",
}
"""Expressions of sizes without a branch."""

BRANCHES = {
    "if_many": "{n} * 2 if {it}.numel() > 4 else {it} + 1",
    "if_rows": "{n1} - 1 if {it}.shape[0] > {k} else {it} * 3",
    "if_even": "{n1}.sum({dim}) if {it}.numel() % 2 == 0 else {it} + 2",
    "if_square": "{m}.t() if {it}.shape[0] == {it}.shape[1] else {it} + 1",
    "if_same": "{n} + 1 if {it}.shape == {un}.shape else {it} - 1",
    "if_divides": "{d1}[::2] if {it}.shape[0] % {k} == 0 else {it}[1:]",
    "if_tuple": "{n1} * 2 if tuple({it}.shape) != ({k},) else {it} * 5",
    "if_rank": "{t}.unsqueeze(0) if {it}.dim() < {k} else {it}.flatten()",
    "if_strides": "{n} + 1 if {it}.is_contiguous() else {it} * 2",
    "if_dtype": "{t}.float() if {it}.dtype == torch.float16 else {it}.clone()",
}
"""Expressions that choose by sizes."""

SIZE_STATEMENTS = {
    "write_if_rows": "if {full1}.shape[0] > {k}: {it}.zero_()",
    "write_each_row": "for i in range({few}.shape[0]): {it}[i] += i",
    "write_half": "{d1}[: {it}.shape[0] // 2] = {k}",
    "while_short": ("i = {k}\nwhile i < {few}.shape[0]:\n    {it}[i] *= 2\n    i += 1"),
}
"""Statements that follow sizes."""
