// EAGLE: vectors of labels that are known for groups of rows only. Each is near to at least one row of every group that
// has the label.
#pragma once
#include <cstdint>

#include "buffer.h"
#include "centroid.h"
#include "sparse.h"

namespace labelwood {

// Which groups have a label, and which rows a group. A label's *slots* are the rows of its groups, group after group.
struct GroupedLabels {
  CsrView labels;  // labels × groups; a value above zero is the group's weight. A group with weight zero is only looked
                   // at, and the label's vector is pushed away from one below zero.
  CsrView groups;  // groups × rows

  Buffer<int64_t> slot_ptr() const;  // labels + 1
};

// Parameters of labelwood.Eagle, which has their defaults.
struct EagleOptions {
  int iterations;
  double step;
  bool leave_out;  // whether a slot is picked without its own part in the label's vector
  uint64_t seed;   // of labels whose rows cancel out: they start from a row drawn at random
};

// A label's vector has unit length and is the sum of its slots' rows times their weights. A label without groups of
// weight above zero has zeros.
struct LabelVectors {
  Buffer<float> weights;  // of each slot
  Buffer<float> cosines;  // of each slot's row with the label's vector
};

// Rows must have unit length, and a group with a weight other than zero at least one row.
LabelVectors eagle(const CsrView& X, const GroupedLabels& grouped, const EagleOptions& options, int n_threads);
LabelVectors eagle(const DenseView& X, const GroupedLabels& grouped, const EagleOptions& options, int n_threads);

// The inner product of each slot's row with its label's vector, for vectors (labels × features) that are there.
Buffer<float> slot_products(const CsrView& X, const CsrView& vectors, const GroupedLabels& grouped, int n_threads);
Buffer<float> slot_products(const DenseView& X, const DenseView& vectors, const GroupedLabels& grouped, int n_threads);

}  // namespace labelwood
