from verify.mlir.tokens import complaint, tokenize


def test_each_token_stands_where_it_says() -> None:
    text = '%a = "tt.reduce"(%x#1) : tensor<4x8x!tt.ptr<f32>> // why\n  ^bb0:\n'
    lines = text.split("\n")
    for token in tokenize(text)[:-1]:
        if token.kind != "newline":
            start = token.column - 1
            assert lines[token.line - 1][start : start + len(token.text)] == token.text


def test_dims_are_one_token_and_hexadecimal_is_a_number() -> None:
    kinds = {t.text: t.kind for t in tokenize("tensor<64x32xf32> 0xFF800000 -3 1.5e+1")}
    assert kinds["64x32x"] == "dims"
    assert kinds["0xFF800000"] == kinds["-3"] == kinds["1.5e+1"] == "number"


def test_nothing_is_lost() -> None:
    assert [t.kind for t in tokenize("$")] == ["stray", "end"]
    assert [t.kind for t in tokenize("")] == ["end"]


def test_a_complaint_names_line_and_construct() -> None:
    error = complaint(tokenize("\n  oops")[1], "'}'", "tt.func @f")
    assert "line 2, column 3 in tt.func @f: expected '}', came 'oops'" in str(error)
