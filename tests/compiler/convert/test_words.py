from compiler.convert.words import (
    HIGH_WORD,
    LOW_WORD,
    Functional,
    Graph,
    Input,
    Prmt,
    Selp,
    Shfl,
    operands,
)

ODD = Functional(1)


def graph() -> tuple[Graph, int, int, int]:
    made = Graph()
    a, b, c = (made.add(Input(word)) for word in range(3))
    return made, a, b, c


def test_equal_nodes_are_one() -> None:
    made, a, b, _ = graph()
    assert made.choose(a, b, ODD) == made.choose(a, b, ODD) == 3


def test_conditions_that_are_known_or_repeat_need_no_node() -> None:
    made, a, b, c = graph()
    assert made.choose(a, b, Functional(0, 1)) == b
    assert made.choose(a, b, Functional(0)) == a
    assert made.choose(a, a, ODD) == a
    inner = made.choose(a, b, ODD)
    outer = made.choose(c, inner, ODD)
    assert made.nodes[outer] == Selp(c, b, ODD)
    assert made.choose(a, b, Functional(1, 1)) == made.choose(b, a, ODD)


def test_whole_words_are_not_permuted() -> None:
    made, a, b, _ = graph()
    assert made.permute(a, b, LOW_WORD, ()) == a
    assert made.permute(a, b, HIGH_WORD, ()) == b
    assert made.nodes[made.permute(a, b, 0x7777, ())] == Prmt(b, b, 0x3333, ())
    assert made.nodes[made.permute(a, b, 0x0123, ())] == Prmt(a, a, 0x0123, ())
    assert made.permute(a, a, LOW_WORD, ((1, 0x4444),)) == a


def test_what_no_output_needs_is_left_out() -> None:
    made, a, b, c = graph()
    made.choose(a, b, ODD)
    shuffled = made.add(Shfl(c, (1, 2), 1))
    program = made.program(2, 3, [shuffled, a])
    assert program.nodes == (Input(0), Input(2), Shfl(1, (1, 2), 1))
    assert program.outputs == (2, 0)


def test_operands() -> None:
    assert operands(Input(0)) == ()
    assert operands(Selp(1, 2, ODD)) == operands(Prmt(1, 2, 0, ())) == (1, 2)
    assert operands(Shfl(4, (), 0)) == (4,)


def test_butterflies() -> None:
    assert Shfl(0, (1, 2, 0), 3).is_butterfly(2)
    assert not Shfl(0, (2, 1), 0).is_butterfly(2)
    assert not Shfl(0, (1, 2, 1), 0).is_butterfly(2)
