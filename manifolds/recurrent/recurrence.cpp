// The recurrence of an expRNN on the CPU, forward and backward.
//
// Both are y_t = act(x_t + y_{t-1} W) (see kernel.py). A thread runs its rows of the
// batch through all of time: rows do not depend on each other, so threads never wait.
// W is packed in panels as wide as two vectors, each small enough for the first cache;
// a tile of rows times a panel stays in registers.

typedef long long Index;

template <class T> struct Lanes;
template <> struct Lanes<float> {
  typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));
};
template <> struct Lanes<double> {
  typedef double Vector __attribute__((vector_size(64), aligned(8), may_alias));
};

constexpr int side_by_side = 2;

template <class T> struct Scan {
  typedef typename Lanes<T>::Vector Vector;
  static constexpr Index lanes = 64 / sizeof(T);
  static constexpr Index width = side_by_side * lanes;

  Index steps, n, backward;
  const Index *offsets;  // first row of each step, and the number of all [steps + 1]
  const T *x, *panels, *bias, *states, *start;
  T *out;

  static Vector load(const T *from) { return *(const Vector *)from; }

  // what lies beyond the last column is zero
  static Vector load_some(const T *from, Index count) {
    Vector result = {};
    for (Index i = 0; i < count && i < lanes; ++i) result[i] = from[i];
    return result;
  }

  static Vector modrelu(Vector z, Vector bias) {
    Vector zero = {};
    Vector length = (z < zero ? -z : z) + bias;
    length = length <= zero ? zero : length;
    Vector signed_length = z < zero ? -length : length;
    return z == zero ? zero : signed_length;
  }

  static Vector masked(Vector gradient, Vector h) {
    Vector zero = {};
    Vector kept = h == zero ? zero : gradient;
    return h != h ? h : kept;
  }

  template <int rows, bool whole>
  void tile(const T *before, Index row, Index panel, T *sums) const {
    const Index column = panel * width;
    const T *w = panels + panel * n * width;
    Vector sum[rows][side_by_side];
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < side_by_side; ++v) {
        const Index at = column + v * lanes;
        const T *from = x + (row + r) * n + at;
        sum[r][v] = whole ? load(from) : load_some(from, n - at);
      }
    for (Index k = 0; k < n; ++k) {
      Vector factor[side_by_side];
      for (int v = 0; v < side_by_side; ++v) factor[v] = load(w + k * width + v * lanes);
      for (int r = 0; r < rows; ++r)
        for (int v = 0; v < side_by_side; ++v) sum[r][v] += before[r * n + k] * factor[v];
    }
    for (int v = 0; v < side_by_side; ++v) {
      const Index at = column + v * lanes;
      if (!whole && at >= n) break;
      for (int r = 0; r < rows; ++r) {
        const Index place = (row + r) * n + at;
        Vector result;
        if (backward) {
          Vector zero = {};
          Vector h = whole ? load(states + place) : load_some(states + place, n - at);
          result = masked(sum[r][v], h);
          *(Vector *)(sums + at) += h < zero ? -result : result;
        } else {
          result = modrelu(sum[r][v], load(bias + at));
        }
        if (whole)
          *(Vector *)(out + place) = result;
        else
          for (Index i = 0; i < lanes && at + i < n; ++i) out[place + i] = result[i];
      }
    }
  }

  template <int rows>
  void tiles(const T *&before, Index &row, Index &left, Index panel, T *sums) const {
    const bool whole = (panel + 1) * width <= n;
    for (; left >= rows; left -= rows, row += rows, before += rows * n)
      if (whole)
        tile<rows, true>(before, row, panel, sums);
      else
        tile<rows, false>(before, row, panel, sums);
  }

  // rows first to last of one step
  void step(const T *before, Index row, Index count, T *sums) const {
    for (Index panel = 0; panel * width < n; ++panel) {
      const T *y = before;
      Index at = row, left = count;
      tiles<8>(y, at, left, panel, sums);
      tiles<4>(y, at, left, panel, sums);
      tiles<1>(y, at, left, panel, sums);
    }
  }

  void run(Index first, Index last, T *sums) const {
    for (Index i = 0; i < steps; ++i) {
      const Index t = backward ? steps - 1 - i : i;
      const Index size = offsets[t + 1] - offsets[t];
      const Index end = size < last ? size : last;
      if (end <= first) continue;
      const T *before = start;
      Index known = end;  // rows that have a step before this one
      if (backward) {
        known = t + 1 < steps ? offsets[t + 2] - offsets[t + 1] : 0;
        if (known > 0) before = out + offsets[t + 1] * n;
        known = known < end ? known : end;
      } else if (t > 0) {
        before = out + offsets[t - 1] * n;
      }
      if (known > first)
        step(before + first * n, offsets[t] + first, known - first, sums);
      const Index fresh = known > first ? known : first;
      // a sequence that ends here starts from what is given: zero
      if (end > fresh) step(start + fresh * n, offsets[t] + fresh, end - fresh, sums);
    }
  }
};

template <class T>
void scan(Index threads, Index steps, Index batch, Index n, Index backward,
          const Index *offsets, const T *x, const T *weight, const T *bias,
          const T *states, const T *start, T *out, T *panels, T *sums) {
  typedef Scan<T> S;
  const Index count = (n + S::width - 1) / S::width;
  for (Index panel = 0; panel < count; ++panel)
    for (Index k = 0; k < n; ++k)
      for (Index i = 0; i < S::width; ++i) {
        const Index column = panel * S::width + i;
        const Index place = backward ? column * n + k : k * n + column;
        panels[(panel * n + k) * S::width + i] = column < n ? weight[place] : 0;
      }
  const S task = {steps, n, backward, offsets, x, panels, bias, states, start, out};
  const Index share = (batch + threads - 1) / threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (Index thread = 0; thread < threads; ++thread) {
    const Index first = thread * share;
    const Index last = first + share < batch ? first + share : batch;
    if (first < last) task.run(first, last, sums + thread * count * S::width);
  }
}

#define ENTRY(name, T)                                                                \
  extern "C" void name(Index threads, Index steps, Index batch, Index n,              \
                       Index backward, const Index *offsets, const T *x,              \
                       const T *weight, const T *bias, const T *states,               \
                       const T *start, T *out, T *panels, T *sums) {                  \
    scan<T>(threads, steps, batch, n, backward, offsets, x, weight, bias, states,     \
            start, out, panels, sums);                                                \
  }

ENTRY(recurrence_float, float)
ENTRY(recurrence_double, double)
