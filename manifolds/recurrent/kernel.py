"""The Triton kernel of the recurrence, for the forward and for the backward scan.

Both scans are ``y_t = act(x_t + y_{t-1} W)``: forward, y is h, W is B and the act is
``modrelu``; backward, time runs down, y is the gradient z before the nonlinearity, x
the gradient that reaches h from above, W is ``B^T`` and the act keeps z where h is not
zero.

One launch is one scan. A program holds its columns of W in registers for the whole of
it and serves a few rows of the batch, one after the other: a step of a row reads
y_{t-1}, multiplies and adds in float32 without a matrix unit, so that nothing is
rounded to fewer bits, and writes y_t. One row a program is fastest where the batch fits
the multiprocessors: 192 x 192 numbers fit the registers of one, and y never leaves it.

Where W does not fit, ``SPLIT`` programs share its columns. Then y_{t-1} comes from
other programs, through memory: the whole output starts as a NaN that no arithmetic
makes, and a reader polls each element until it is another number, so that an element is
its own flag. All programs of such a launch must run at once.

Tiles are powers of two; ``PARTS`` of them side by side reach 192 = 3 x 64 and 384.
"""
# ruff: noqa: E501, N803
# mypy: disable-error-code="assignment,misc"

import triton
import triton.language as tl


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def add(a, b):  # type: ignore[no-untyped-def]
    """Add."""
    return a + b


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def add_parts(a0, a1, a2, b0, b1, b2):  # type: ignore[no-untyped-def]
    """Add three sums at once, so that a reduction synchronises once."""
    return a0 + b0, a1 + b1, a2 + b2


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def await_written(values, places):  # type: ignore[no-untyped-def]
    """Read again what was read before it was written."""
    bits = tl.inline_asm_elementwise(
        """{
        .reg .pred unwritten;
        mov.b32 $0, $1;
        check:
        setp.eq.s32 unwritten, $0, -1;
        @!unwritten bra done;
        ld.volatile.global.b32 $0, [$2];
        bra check;
        done:
        }""",
        "=&r,r,l",
        [values.to(tl.int32, bitcast=True), places.to(tl.int64)],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )
    return bits.to(tl.float32, bitcast=True)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def read(source, columns, kept, n, TILES: tl.constexpr, TILE: tl.constexpr, SHARED: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip
    """Read a row in tiles; what is not kept is zero."""
    tiles = ()
    for i in tl.static_range(TILES):
        column = columns + i * TILE
        mask = kept & (column < n)
        tiles += (tl.load(source + column, mask=mask, other=0.0, volatile=SHARED),)
    return tiles


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def await_row(tiles, source, columns, TILES: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip
    """Wait until other programs have written the row."""
    written = ()
    for i in tl.static_range(TILES):
        written += (await_written(tiles[i], source + (columns + i * TILE)),)
    return written


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def write(target, values, columns, kept, n, TILES: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip
    """Write the program's columns of a row."""
    for j in tl.static_range(TILES):
        column = columns + j * TILE
        tl.store(target + column, values[j], mask=kept & (column < n))


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def read_weight(source, inner, columns, n, PARTS: tl.constexpr, K_TILE: tl.constexpr, N_TILE: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip
    """Read the program's columns of W, those of one tile of columns together."""
    tiles = ()
    for j in tl.static_range(PARTS):
        column = columns + j * N_TILE
        for i in tl.static_range(PARTS):
            k = inner + i * K_TILE
            mask = (k < n)[:, None] & (column < n)[None, :]
            places = source + k[:, None] * n + column[None, :]
            tiles += (tl.load(places, mask=mask, other=0.0),)
    return tiles


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def multiply(y, w, PARTS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return ``y W`` in tiles."""
    products = ()
    for j in tl.static_range(PARTS):
        product = y[0][:, None] * w[j * PARTS]
        for i in tl.static_range(1, PARTS):
            product += y[i][:, None] * w[j * PARTS + i]
        products += (product,)
    if PARTS == 3:
        sums = tl.reduce(products, 0, add_parts)
    else:
        sums = (tl.reduce(products[0], 0, add),)
    return sums


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def activate(z, x, h, biases, BACKWARD: tl.constexpr, PARTS: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip
    """Add x, and apply the nonlinearity or its derivative; NaN stays NaN."""
    results = ()
    for j in tl.static_range(PARTS):
        value = z[j] + x[j]
        if BACKWARD:
            value = tl.where(h[j] == 0, 0.0, value)
            value = tl.where(h[j] != h[j], float("nan"), value)
        else:
            length = tl.abs(value) + biases[j]
            length = tl.where(length <= 0, 0.0, length)
            signed = tl.where(value < 0, -length, length)
            signed = tl.where(value == 0, 0.0, signed)
            value = tl.where(length != length, float("nan"), signed)
        results += (value,)
    return results


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def add_signed(totals, z, h, PARTS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Add ``sign(h) z``, of which the gradient of the bias is the sum."""
    results = ()
    for j in tl.static_range(PARTS):
        results += (totals[j] + tl.where(h[j] < 0, -z[j], z[j]),)
    return results


@triton.jit(do_not_specialize=["begin", "end", "steps"])  # type: ignore[misc,untyped-decorator,unused-ignore]
def recurrence_kernel(  # type: ignore[no-untyped-def]
    x,
    weight,
    bias,
    states,
    start,
    out,
    sums,
    begin,
    end,
    steps,
    batch,
    n,
    BACKWARD: tl.constexpr,
    PARTS: tl.constexpr,
    K_TILE: tl.constexpr,
    N_TILE: tl.constexpr,
    SPLIT: tl.constexpr,
    ROWS: tl.constexpr,
    WAIT: tl.constexpr,
):
    """Run steps ``begin`` to ``end`` of a scan of ``steps`` for some rows.

    Args:
        x: [steps, batch, n], contiguous as all others.
        weight: W [n, n].
        bias: [n]; forward only.
        states: h [steps, batch, n]; backward only.
        start: y before the first step [batch, n].
        out: y [steps, batch, n]; all bits set before step 0 if ``SPLIT > 1``.
        sums: Receives ``sum_t sign(h_t) z_t``, for each program [programs // SPLIT, n];
            backward only.
        begin: Steps done already, which the output holds.
        end: Where to stop.
        steps: Of the whole scan.
        batch: Rows of a step.
        n: Columns.
        BACKWARD: Step 0 is the last time.
        PARTS: 1 or 3 tiles in each direction of W.
        K_TILE: Rows of a tile; ``PARTS * K_TILE >= n``.
        N_TILE: Columns of a tile; ``SPLIT * PARTS * N_TILE >= n``.
        SPLIT: Programs that share the columns.
        ROWS: Rows of the batch that a program serves.
        WAIT: Whether programs wait for each other; without, and with ``SPLIT > 1``, a
            launch can do one step only.
    """
    group = tl.program_id(0) // SPLIT
    inner = tl.arange(0, K_TILE)
    columns = (tl.program_id(0) % SPLIT) * (PARTS * N_TILE) + tl.arange(0, N_TILE)
    w = read_weight(weight, inner, columns, n, PARTS, K_TILE, N_TILE)
    biases = ()
    total = ()
    for j in tl.static_range(PARTS):
        total += (tl.full((N_TILE,), 0.0, tl.float32),)
        if not BACKWARD:
            place = columns + j * N_TILE
            biases += (tl.load(bias + place, mask=place < n, other=0.0),)

    stride = batch.to(tl.int64) * n
    origin = group.to(tl.int64) * ROWS * n
    if BACKWARD:
        origin += (steps - 1) * stride
        stride = -stride
    rows = tl.minimum(batch - group * ROWS, ROWS)
    # an item is a step of a row; reads are two items ahead of their use
    last = end * ROWS
    item = begin * ROWS
    place = origin + begin * stride
    next_row = (item + 1) % ROWS
    next = origin + ((item + 1) // ROWS) * stride + next_row * n
    more = (item + 1 < last) & (next_row < rows)
    x0 = read(x + place, columns, True, n, PARTS, N_TILE, False)
    x1 = read(x + next, columns, more, n, PARTS, N_TILE, False)
    h0 = x0
    h1 = x1
    if BACKWARD:
        h0 = read(states + place, columns, True, n, PARTS, N_TILE, False)
        h1 = read(states + next, columns, more, n, PARTS, N_TILE, False)
    if begin == 0:
        y = read(start + group * ROWS * n, inner, True, n, PARTS, K_TILE, False)
    else:
        y = read(out + (place - stride), inner, True, n, PARTS, K_TILE, False)
    for item in range(begin * ROWS, last):
        row = item % ROWS
        place = origin + (item // ROWS) * stride + row * n
        ahead_row = (item + 2) % ROWS
        ahead = origin + ((item + 2) // ROWS) * stride + ahead_row * n
        more = (item + 2 < last) & (ahead_row < rows)
        x2 = read(x + ahead, columns, more, n, PARTS, N_TILE, False)
        h2 = x2
        if BACKWARD:
            h2 = read(states + ahead, columns, more, n, PARTS, N_TILE, False)
        if ROWS > 1:
            # the next item's y was written ROWS - 1 items ago, by all threads
            tl.debug_barrier()
            next_row = (item + 1) % ROWS
            source = out + (origin + ((item + 1) // ROWS - 1) * stride + next_row * n)
            if (begin == 0) & (item + 1 < ROWS):
                source = start + (group * ROWS + next_row) * n
            more = (item + 1 < last) & (next_row < rows)
            coming = read(source, inner, more, n, PARTS, K_TILE, WAIT)
        z = activate(multiply(y, w, PARTS), x0, h0, biases, BACKWARD, PARTS)
        write(out + place, z, columns, row < rows, n, PARTS, N_TILE)
        if BACKWARD:
            total = add_signed(total, z, h0, PARTS)
        if ROWS > 1:
            if WAIT:
                coming = await_row(coming, source, inner, PARTS, K_TILE)
            y = coming
        elif WAIT:
            coming = read(out + place, inner, True, n, PARTS, K_TILE, True)
            y = await_row(coming, out + place, inner, PARTS, K_TILE)
        else:
            y = z
        x0 = x1
        x1 = x2
        h0 = h1
        h1 = h2
    if BACKWARD:
        target = sums + group * n
        before = read(target, columns, begin > 0, n, PARTS, N_TILE, False)
        sums_of_all = ()
        for j in tl.static_range(PARTS):
            sums_of_all += (before[j] + total[j],)
        write(target, sums_of_all, columns, True, n, PARTS, N_TILE)
