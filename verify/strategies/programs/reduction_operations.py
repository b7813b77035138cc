"""Operations over rows: name -> template, simplest first.

Reductions, positions of extremes, sums of what is repeated, scans; a part of the table
of :mod:`operations`.
"""

REDUCTIONS = {
    "sum": "{t}.sum()",
    "sum_dim": "{d1}.sum({dim})",
    "sum_dims": "{d1}.sum({dims}, keepdim={bool})",
    "mean": "{f1}.mean({dim}, keepdim={bool})",
    "mean_all": "{f}.mean()",
    "prod": "{n1}.prod({dim})",
    "any": "{d1}.any({dim})",
    "any_all": "{t}.any()",
    "any_dims": "{d1}.any({dims})",
    "all": "{t}.all()",
    "all_dim": "{d1}.all({dim}, keepdim={bool})",
    "var": "{f1}.var({dim}, correction=0)",
    "std": "{f1full}.std({dim}, keepdim={bool})",
    "var_mean": "torch.var_mean({f1full}, {dim}, correction=0)[0]",
    "norm": "torch.linalg.vector_norm({f1}, {k}, {dim})",
    "logsumexp": "torch.logsumexp({f1}, {dim})",
    "count_nonzero": "torch.count_nonzero({d1}, {dim})",
    "softmax": "torch.softmax({f1}, {dim})",
    "log_softmax": "torch.log_softmax({f1}, {dim})",
    "layer_norm": "F.layer_norm({f1full}, ({last},))",
    "normalize": "F.normalize({f1full}, dim={dim})",
    "diff": "torch.diff({n1}, dim={dim})",
    "trace": "torch.trace({m})",
    "sum_dtype": "{d1}.sum({dim}, dtype=torch.float64)",
    "nansum": "torch.nansum({f1}, {dim})",
    "rms_norm": "F.rms_norm({f1full}, ({last},))",
    "group_norm": "F.group_norm({image}, 1)",
    "batch_norm": "F.batch_norm({image}, None, None, training=True)",
    "mse_loss": "F.mse_loss({fullf}, {alike})",
    "smooth_l1": "F.smooth_l1_loss({fullf}, {alike})",
    "cross_entropy": "F.cross_entropy({m}, torch.arange({it}.shape[0]) % 2)",
    "histc": "torch.histc({fullf}, 4, -2.0, 2.0)",
    "adaptive_avg_pool": "F.adaptive_avg_pool2d({image}, 1)",
    "sum_flat": "{n1}.flatten().sum(0, keepdim={bool})",
    "sum_last": "{d1}.sum(-1)",
    "sum_of_squares": "({n1} * {it}).sum({dim})",
    "sum_where": "torch.where({f1} > 0, {it}, {c}).sum({dim})",
    "sum_padded": "F.pad({n1}, {pads}, value={c}).sum({dim})",
    "max_of_joined": "torch.cat([{n1}, {alike}], {dim}).amax()",
    "sum_of_joined": "torch.cat([{n1}, {alike}], {dim}).sum({dim})",
    "mean_centred": "{f1} - {it}.mean({dim}, keepdim=True)",
}
"""Sums, norms and losses, of what is padded, joined and chosen too."""

ORDERS = {
    "amax": "{full1}.amax({dims})",
    "amin": "{full1}.amin({dims}, keepdim={bool})",
    "max_all": "{full}.max()",
    "max_values": "{full1}.max({dim})[0]",
    "max_indices": "{full1}.max({dim})[1]",
    "argmax": "torch.argmax({full1}, {dim})",
    "argmin_all": "torch.argmin({full})",
    "sort": "torch.sort({d1}, {dim})[0]",
    "topk": "torch.topk({full1}, 1, {dim})[0]",
    "median": "{apart}.median({dim})[0]",
    "argsort": "torch.argsort({d1}, dim={dim}, stable=True)",
    "kthvalue": "torch.kthvalue({full1}, 1, {dim})[0]",
    "max_pool_indices": "F.max_pool2d({image}, 1, {k}, return_indices=True)[1]",
    "argmax_all": "torch.argmax({full})",
    "argmin": "torch.argmin({full1}, {dim}, keepdim={bool})",
    "argmax_flat": "{full1}.flatten().argmax(0)",
    "min_indices": "{full1}.min({dim})[1]",
    "aminmax": "torch.aminmax({full1}, dim={dim})[1]",
}
"""Extremes and their positions, sorts."""

REPEATED = {
    "sum_expanded": "{d1}.expand(3, *{it}.shape).sum()",
    "sum_expanded_dims": "{d1}.expand(3, *{it}.shape).sum({dims})",
    "mean_expanded": "{f1}[..., None].expand(*{it}.shape, {k}).mean()",
    "sum_broadcast": "({n}[..., None] + torch.zeros({k})).sum()",
    "max_expanded": "{full1}.expand(2, *{it}.shape).amax(({dim},))",
    "sum_repeated": "{n1}[None].expand({k}, *{it}.shape).flatten().sum()",
    "mean_tiled": "{f1}.expand(3, *{it}.shape).mean((0, -1))",
}
"""Reductions over dims along which a tensor is repeated."""

SCANS = {
    "cumsum": "torch.cumsum({n1}, {dim})",
    "cumprod": "torch.cumprod({f1}, {dim})",
    "cummax": "torch.cummax({full1}, {dim})[0]",
    "logcumsumexp": "torch.logcumsumexp({f1full}, {dim})",
    "cummin": "torch.cummin({full1}, {dim})[0]",
    "cummax_indices": "torch.cummax({full1}, {dim})[1]",
    "cummin_indices": "torch.cummin({full1}, {dim})[1]",
    "cumsum_flat": "torch.cumsum({n1}.flatten(), 0)",
    "cummax_flat": "torch.cummax({full1}.flatten(), 0)[1]",
    "cumsum_last": "torch.cumsum({n1}, -1)",
    "cumsum_long": "torch.cumsum({n1}.repeat_interleave(12, dim={dim}), {dim})",
    "cumprod_flat": "torch.cumprod({n1}.flatten(), 0)",
    "cumsum_exclusive": "torch.cumsum({n1}, -1) - {it}",
}
"""Running sums, products and extremes."""
