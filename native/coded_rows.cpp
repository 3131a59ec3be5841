#include "coded_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "huge_pages.h"
#include "simd/kernels.h"

namespace labelwood {
namespace {

constexpr int64_t kRowsAtOnce = 64;
constexpr float kLargestProduct = 1e37f;  // beyond, sums in single precision might overflow
constexpr float kLeastProduct = 1e-37f;   // what products that are too small for single precision add up to at most
constexpr float kUp = 1 + 0x1p-20f;       // more than a few roundings take away
constexpr float kAlways = std::numeric_limits<float>::infinity();

// Writes x / scale as whole numbers, and returns the squared length of what they miss.
template <class Code>
double to_codes(const float* x, int64_t n, float scale, Code* codes) {
  double missed = 0;
  for (int64_t i = 0; i < n; ++i) {
    constexpr float most = std::numeric_limits<Code>::max();
    codes[i] = static_cast<Code>(std::clamp(std::nearbyint(x[i] / scale), -most, most));
    const double rest = static_cast<double>(x[i]) - static_cast<double>(scale) * codes[i];
    missed += rest * rest;
  }
  return missed;
}

}  // namespace

bool is_usual(float largest) { return largest > 1e-15f && largest < 1e15f; }

float largest_of(const float* x, int64_t n) {
  float most = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(x[i]));
  return most;
}

double squared_length(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

float rounded_up(double squares) {
  return std::nextafter(static_cast<float>(std::sqrt(squares)) * kUp,
                        kAlways);  // the factor is nothing to the smallest numbers
}

CodedRows::CodedRows(int64_t n_rows, int64_t width) : width_(width), codes_(n_rows * width), measures_(n_rows) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max() / std::numeric_limits<int8_t>::max();
  levels_ =
      static_cast<int16_t>(std::min<int64_t>(std::numeric_limits<int16_t>::max(), most / std::max<int64_t>(width, 1)));
  prefer_huge_pages(codes_.data(), codes_.size());
}

void CodedRows::encode(int64_t i, const float* row, float rest) {
  int8_t* codes = codes_.data() + i * width_;
  const double squares = squared_length(row, width_);
  const float most = largest_of(row, width_), length = rounded_up(squares);
  if (is_usual(most) && std::isfinite(squares)) {
    const float scale = most / std::numeric_limits<int8_t>::max();
    measures_[i] = {scale, length, rounded_up(to_codes(row, width_, scale, codes)), rest};
  } else {  // as if it were zero: all of it is missed
    std::fill_n(codes, width_, int8_t{0});
    measures_[i] = {0, length, length, rest};
  }
}

void CodedRows::copy(int64_t from, int64_t to) {
  std::memcpy(codes_.data() + to * width_, codes_.data() + from * width_, width_);
  measures_[to] = measures_[from];
}

void CodedRows::finish() {
  longest_ = 0;
  for (const Measures& m : measures_) longest_ = std::isfinite(m.length) ? std::max(longest_, m.length) : kAlways;
}

CodedRows::Query CodedRows::encoded(const float* query, float rest, float slack) const {
  Query out{.codes = std::vector<int16_t>(width_), .rest = rest, .slack = slack + kLeastProduct};
  const double squares = squared_length(query, width_);
  const float most = largest_of(query, width_), length = rounded_up(squares);
  out.sound = levels_ > 0 && is_usual(most) && std::isfinite(squares) && length * longest_ < kLargestProduct;
  if (!out.sound) return out;
  out.scale = most / levels_;
  const float missed = rounded_up(to_codes(query, width_, out.scale, out.codes.data()));
  out.length = (length + missed) * kUp;
  // A sum of n products in single precision is off by less than n roundings of ‖q‖·‖p‖; a few more are for the bound's
  // own.
  out.missed = missed + out.length * static_cast<float>(width_ + 64) * 0x1p-24f;
  return out;
}

void CodedRows::bound(const Query& query, int64_t begin, int64_t end, float* bounds) const {
  if (!query.sound) {
    std::fill_n(bounds, end - begin, kAlways);
    return;
  }
  int32_t products[kRowsAtOnce];
  for (int64_t at = begin; at < end; at += kRowsAtOnce) {
    const int64_t n = std::min(kRowsAtOnce, end - at);
    simd::kernels().code_products(codes_.data() + at * width_, query.codes.data(), width_, n, products);
    for (int64_t i = at; i < at + n; ++i) {
      const Measures& m = measures_[i];
      const float product = static_cast<float>(products[i - at]) * (m.scale * query.scale);
      bounds[i - begin] =
          product + (query.length * m.missed + query.missed * m.length + query.rest * m.rest + query.slack);
    }
  }
}

void CodedRows::prefetch(int64_t i) const {
  __builtin_prefetch(&measures_[i]);
  for (int64_t at = 0; at < width_; at += 64) __builtin_prefetch(codes_.data() + i * width_ + at);
}

}  // namespace labelwood
