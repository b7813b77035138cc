"""Random operators: those whose values are open, and what holds whatever is drawn.

What a random operator returns differs between compilers that are right. So results that
depend on one (:data:`RANDOM`) are compared by type, shape, strides and by two runs from
one seed, while each expression in :data:`SUPPORT` has one value for every draw: a
number drawn from [0, 1) is below 1, a dropped element is 0 or doubled.
"""

RANDOM = {
    "rand": "torch.rand({size})",
    "rand_like": "torch.rand_like({f})",
    "randn_like": "torch.randn_like({f})",
    "randint": "torch.randint(0, 5, ({size},))",
    "randint_like": "torch.randint_like({n}, 3)",
    "bernoulli": "torch.bernoulli(torch.full_like({f}, 0.5))",
    "dropout": "F.dropout({f}, 0.5)",
    "alpha_dropout": "F.alpha_dropout({f}, 0.25)",
    "randperm": "torch.randperm({size})",
    "rand_strided": "torch.rand(3, {k}).t()",
    "rand_where": "torch.where(torch.rand({f}.shape) < 0.5, {it}, -{it})",
    "multinomial": "torch.multinomial(torch.ones(4), {k})",
    "normal": "torch.normal(0.0, 1.0, ({k}, 2))",
    "poisson": "torch.poisson(torch.full_like({f}, 2.0))",
}
"""Expressions with random values."""

RANDOM_STATEMENTS = {
    "uniform_": "{f}.uniform_()",
    "normal_": "{f}.normal_()",
    "bernoulli_": "{n}.bernoulli_(0.5)",
    "random_": "{n}.random_(0, 4)",
    "exponential_": "{f}.exponential_()",
    "dropout_": "F.dropout({f}, 0.5, inplace=True)",
}
"""Statements that write random values."""

SUPPORT = {
    "rand_below_1": "torch.rand({size}) < 1.0",
    "rand_not_negative": "torch.rand_like({f}) >= 0",
    "randint_range": "torch.randint(2, 5, ({size},)).clamp(2, 4) - 2 < 3",
    "randperm_sorted": "torch.sort(torch.randperm({size}))[0]",
    "bernoulli_sure": "torch.bernoulli(torch.ones_like({f}))",
    "bernoulli_never": "torch.bernoulli(torch.zeros_like({f}))",
    "dropout_none": "F.dropout({f}, 0.0)",
    "dropout_all": "F.dropout(torch.ones_like({f}), 1.0)",
    "dropout_eval": "F.dropout({f}, 0.5, training=False)",
    "dropout_values": (
        "(torch.remainder(F.dropout(torch.ones_like({f}), 0.5), 2.0) == 0)"
    ),
    "shuffled_sum": "torch.arange(9)[torch.randperm(9)].sum() + {k}",
    "one_of": "torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 1)",
}
"""Expressions on random numbers whose value is the same for every draw."""
