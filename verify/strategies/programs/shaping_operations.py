"""Operations that join tensors, and products of tensors: name -> template."""

JOINS = {
    "cat": "torch.cat([{d1}, {alike}], {dim})",
    "stack": "torch.stack([{t}, {alike}])",
    "pad": "F.pad({n1}, {pads}, value={c})",
    "hstack": "torch.hstack([{d1}, {it}])",
    "column": "torch.column_stack([{m}, {it}])",
    "channel_shuffle": "F.channel_shuffle({image}, 1)",
    "pad_row": "F.pad({n1}, ({k}, {k}), value={c})",
    "cat_three": "torch.cat([{n1}, {alike}, {it} * {k}], {dim})",
    "cat_flat": "torch.cat([{f1}.flatten(), {uf}.flatten().to({it}.dtype)])",
    "stack_last": "torch.stack([{n}, {alike}], -1)",
    "symmetrised": "{square} + {it}.mT",
    "antisymmetrised": "{square} - {it}.flatten().reshape({it}.shape).mT",
}
"""Pads, joins, and tensors beside their own transposes."""

SHAPING = {
    "matmul": "{m} @ {right}",
    "outer": "torch.outer({f}.flatten()[:5], {f}.flatten()[:4].to({f}.dtype))",
    "avg_pool": "F.avg_pool2d({image}, 1, {k})",
    "max_pool": "F.max_pool2d({image}, 1, {k})",
    "interpolate": "F.interpolate({image}, scale_factor=2)",
    "bmm": "torch.bmm({b3}, {it}.mT)",
    "grouped_mm": (
        "F.grouped_mm({b3}.repeat(1, 1, 8).bfloat16(), "
        "{it}.repeat(1, 1, 8).bfloat16().mT)"
    ),
    "baddbmm": "torch.baddbmm({b3}, {it}, {it}.mT @ {it})",
    "addmm": "torch.addmm({m}[0], {it}.t() @ {it}, {it}.t() @ {it})",
    "linear": "F.linear({m}, {it})",
    "conv2d": "F.conv2d({image}, {it}[:1, :, :2, :2], padding=1)",
    "conv1d": "F.conv1d({signal}, {it}[:2, :, :1])",
    "conv_transpose": "F.conv_transpose2d({image}, {it}[0][:, None, :1, :1])",
    "attention": "F.scaled_dot_product_attention({rows4}, {it}, {it})",
    "attention_causal": (
        "F.scaled_dot_product_attention({rows4}, {it}, {it}, is_causal=True)"
    ),
    "einsum": "torch.einsum('ij,kj->ik', {m}, {it})",
    "tensordot": "torch.tensordot({m}, {it}, dims=([1], [1]))",
    "nearest": "F.interpolate({image}, size=(3, 5), mode='nearest')",
    "bilinear": "F.interpolate({image}, size=(3, 5), mode='bilinear')",
    "pixel_shuffle": "F.pixel_shuffle({image}.repeat(1, 4, 1, 1), 2)",
}
"""Matrix products, convolutions, attention, pooling."""
