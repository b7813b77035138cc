// The exponential of small matrices on the CPU, and its derivative in one direction.
//
// A vector holds one element of many matrices. The polynomial is the one of degree 18;
// each matrix is halved and squared as often as its norm asks for. For a derivative each
// product is one of pairs: (P, P')(R, R') = (P R, P R' + P' R).

typedef long long Index;

template <class T> struct Lanes;
template <> struct Lanes<float> {
  typedef float Vector __attribute__((vector_size(64)));
};
template <> struct Lanes<double> {
  typedef double Vector __attribute__((vector_size(64)));
};

// coefficients of the scheme: the first product's factors, the last one's, the rest
template <class T> struct Scheme {
  T b1[3], b5[3], left[5], right[5], rest[4], limit;
};

template <class T, int fixed> struct Small {
  typedef typename Lanes<T>::Vector Vector;
  static constexpr int lanes = 64 / sizeof(T);
  static constexpr int most = fixed ? fixed : 16;
  struct Matrix {
    Vector e[most * most];
  };

  int n;
  Scheme<T> scheme;

  int size() const { return fixed ? fixed : n; }

  void multiply(const Matrix &x, const Matrix &y, Matrix &out, bool add) const {
    const int n = size();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        Vector sum = {};
        if (add) sum = out.e[i * n + j];
        for (int k = 0; k < n; ++k) sum += x.e[i * n + k] * y.e[k * n + j];
        out.e[i * n + j] = sum;
      }
  }

  void displace(const Matrix &x, const Matrix &dx, const Matrix &y, const Matrix &dy,
                Matrix &out) const {
    multiply(x, dy, out, false);
    multiply(dx, y, out, true);
  }

  // c[0] I (unless it is a displacement) + c[1] a + c[2] a2 + c[3] a3 + c[4] a6 [+ more]
  void combine(const T *c, const Matrix *a, const Matrix *more, bool identity,
               Matrix &out) const {
    const int n = size();
    for (int i = 0; i < n * n; ++i) {
      Vector sum = c[1] * a[0].e[i] + c[2] * a[1].e[i] + c[3] * a[2].e[i] +
                   c[4] * a[3].e[i];
      if (more) sum += more->e[i];
      if (identity && i % (n + 1) == 0) sum += c[0];
      out.e[i] = sum;
    }
  }

  // matrices first to first + count; a transposed matrix is read by columns
  void run(const T *matrix, const T *direction, T *out, bool transposed, int count) const {
    const int n = size();
    Matrix a[4], e[4];
    Vector norm = {}, scale, times = {};
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        Vector value = {};
        for (int lane = 0; lane < count; ++lane)
          value[lane] = matrix[lane * n * n + (transposed ? j * n + i : i * n + j)];
        a[0].e[i * n + j] = value;
      }
    const Vector zero = {};
    for (int j = 0; j < n; ++j) {
      Vector column = {};
      for (int i = 0; i < n; ++i) {
        const Vector value = a[0].e[i * n + j];
        column += value < zero ? -value : value;
      }
      norm = column > norm || column != column ? column : norm;
    }
    T squarings = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      T factor = 1, halvings = 0;
      // what is not finite is not scaled: norm - norm is NaN then
      for (T left = norm[lane]; left > scheme.limit && left - left == 0; left /= 2) {
        factor /= 2;
        halvings += 1;
      }
      scale[lane] = factor;
      times[lane] = halvings;
      squarings = halvings > squarings ? halvings : squarings;
    }
    for (int i = 0; i < n * n; ++i) a[0].e[i] *= scale;
    multiply(a[0], a[0], a[1], false);
    multiply(a[1], a[0], a[2], false);
    multiply(a[2], a[2], a[3], false);
    const T b1[5] = {0, scheme.b1[0], scheme.b1[1], scheme.b1[2], 0};
    const T b5[5] = {0, 0, scheme.b5[0], scheme.b5[1], scheme.b5[2]};
    const T rest[5] = {0, scheme.rest[0], scheme.rest[1], scheme.rest[2], scheme.rest[3]};
    Matrix one, five, nine, left, right, p;
    combine(b1, a, nullptr, false, one);
    combine(b5, a, nullptr, false, five);
    multiply(one, five, nine, false);
    combine(scheme.left, a, &nine, true, left);
    combine(scheme.right, a, &nine, true, right);
    combine(rest, a, nullptr, false, p);
    multiply(left, right, p, true);
    Matrix d, next, dnext;
    if (direction) {
      for (int i = 0; i < n * n; ++i) {
        Vector value = {};
        for (int lane = 0; lane < count; ++lane) value[lane] = direction[lane * n * n + i];
        e[0].e[i] = value * scale;
      }
      displace(a[0], e[0], a[0], e[0], e[1]);
      displace(a[1], e[1], a[0], e[0], e[2]);
      displace(a[2], e[2], a[2], e[2], e[3]);
      Matrix done, dfive, dnine, dleft, dright;
      combine(b1, e, nullptr, false, done);
      combine(b5, e, nullptr, false, dfive);
      displace(one, done, five, dfive, dnine);
      combine(scheme.left, e, &dnine, false, dleft);
      combine(scheme.right, e, &dnine, false, dright);
      combine(rest, e, nullptr, false, d);
      multiply(left, dright, d, true);
      multiply(dleft, right, d, true);
    }
    for (T done = 0; done < squarings; done += 1) {
      const auto due = times > done;
      if (direction) displace(p, d, p, d, dnext);
      multiply(p, p, next, false);
      for (int i = 0; i < n * n; ++i) {
        p.e[i] = due ? next.e[i] : p.e[i];
        if (direction) d.e[i] = due ? dnext.e[i] : d.e[i];
      }
    }
    const Matrix &result = direction ? d : p;
    const Vector broken = norm - norm;  // NaN where the norm is not finite
    for (int i = 0; i < n * n; ++i) {
      // exact at zero: the identity, or the direction itself
      const Vector exact = direction ? e[0].e[i] : zero + T(i % (n + 1) == 0);
      const Vector value = (norm == zero ? exact : result.e[i]) + broken;
      for (int lane = 0; lane < count; ++lane) out[lane * n * n + i] = value[lane];
    }
  }

  void all(Index threads, Index count, const T *matrix, const T *direction, T *out,
           bool transposed) const {
    const Index blocks = (count + lanes - 1) / lanes, area = size() * size();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (Index block = 0; block < blocks; ++block) {
      const Index first = block * lanes, left = count - first;
      run(matrix + first * area, direction ? direction + first * area : nullptr,
          out + first * area, transposed, left < lanes ? left : lanes);
    }
  }
};

template <class T>
void exponential(Index threads, Index count, Index n, Index transposed, const T *scheme,
                 const T *matrix, const T *direction, T *out) {
  const Scheme<T> &known = *(const Scheme<T> *)scheme;
  if (n == 2)
    Small<T, 2>{2, known}.all(threads, count, matrix, direction, out, transposed);
  else if (n == 3)
    Small<T, 3>{3, known}.all(threads, count, matrix, direction, out, transposed);
  else if (n == 4)
    Small<T, 4>{4, known}.all(threads, count, matrix, direction, out, transposed);
  else
    Small<T, 0>{(int)n, known}.all(threads, count, matrix, direction, out, transposed);
}

#define ENTRY(name, T)                                                                \
  extern "C" void name(Index threads, Index count, Index n, Index transposed,         \
                       const T *scheme, const T *matrix, const T *direction, T *out) { \
    exponential<T>(threads, count, n, transposed, scheme, matrix, direction, out);    \
  }

ENTRY(exponential_float, float)
ENTRY(exponential_double, double)
