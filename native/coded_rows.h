// Rows of numbers in bytes, for a quarter of the memory traffic, and bounds of what they are to a query.
//
// A row p is s·c, c of 8 bits, and a query q is t·d, d of 16 bits. Then s·t·(c·d) is off by no more than
//     |q·p − s·t·(c·d)|  ≤  ‖t·d‖·‖p − s·c‖ + ‖q − t·d‖·‖p‖
// (the triangle and Cauchy's inequality), to which comes what rounding adds. Where rows and queries are but a part of
// longer ones, what is left of both adds no more than the product of its lengths.
#pragma once
#include <cstdint>
#include <vector>

#include "buffer.h"

namespace labelwood {

// Whether sums of products of numbers up to so large are what single precision can hold.
bool is_usual(float largest);
float largest_of(const float* x, int64_t n);
double squared_length(const float* x, int64_t n);
float rounded_up(double squares);  // no less than the root

class CodedRows {
 public:
  struct Query {
    std::vector<int16_t> codes;
    float scale = 0, length = 0, missed = 0;  // t; no less than ‖t·d‖; no less than ‖q − t·d‖ and rounding
    float rest = 0, slack = 0;  // no less than the length of what is left; what else products can be off by
    bool sound = false;         // otherwise there is no bound for it
  };

  CodedRows() = default;
  CodedRows(int64_t n_rows, int64_t width);

  // All rows are encoded, or copied from one that is, in any order and by any threads. Then they are finished, and
  // queries can be asked.
  void encode(int64_t i, const float* row, float rest = 0);
  void copy(int64_t from, int64_t to);
  void finish();

  Query encoded(const float* query, float rest = 0, float slack = 0) const;

  // No product of the query with one of these rows, computed in single precision, is more than its bound. Bounds are
  // those from `begin` on.
  void bound(const Query& query, int64_t begin, int64_t end, float* bounds) const;

  // Fetches a row that will soon be asked for.
  void prefetch(int64_t i) const;

  float longest() const { return longest_; }  // no row is longer; infinite where one is not finite

 private:
  struct Measures {
    float scale, length, missed, rest;  // s; no less than ‖p‖, ‖p − s·c‖ and the length of what is left
  };

  int64_t width_ = 0;
  Buffer<int8_t> codes_;       // rows × width: c
  Buffer<Measures> measures_;  // of each row
  float longest_ = 0;
  int16_t levels_ = 0;  // the largest number in a query's codes
};

}  // namespace labelwood
