import torch

from verify.mutants.compiler.changes import instead, probe, replacing, tensor


def test_texts_are_replaced_line_by_line() -> None:
    change = replacing(r"^a = (\w+)$", r"b = \1")
    assert change("a = 1\n a = 2\na = 3") == "b = 1\n a = 2\nb = 3"


def test_the_wrong_function_gets_the_right_one_first() -> None:
    change = instead("m:f", lambda right, x: right(x) + 1)
    assert change.place == "m:f"
    assert change.make(lambda x: 10 * x)(2) == 21


def test_probes_return_the_last_target_or_what_they_are_told() -> None:
    x = tensor(2, 3, dtype=torch.int64, offset=1)
    assert (x.strides, x.offset) == ((3, 1), 1)
    assert probe("v0 = x0 + 1", "v1 = v0 + 1", x0=x).returns == ("v1",)
    assert probe("x0.add_(1)", returns="x0, x1", x0=x, x1=x).returns == ("x0", "x1")
