// What Python sees of native code, save softmax trees and labels of groups: checks shapes and dtypes, releases the GIL,
// calls.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "buffer.h"
#include "centroid.h"
#include "clustering.h"
#include "compressed.h"
#include "csv_rows.h"
#include "dense_product.h"
#include "eagle_bindings.h"
#include "error.h"
#include "hash.h"
#include "marked_lines.h"
#include "metrics.h"
#include "overlap.h"
#include "parallel.h"
#include "prototype_index.h"
#include "python.h"
#include "search.h"
#include "simd/kernels.h"
#include "softmax_bindings.h"
#include "sparse.h"
#include "sparse_text.h"
#include "term_index.h"
#include "training.h"
#include "unicode.h"
#include "vectorizer.h"
#include "vocabulary.h"

using namespace nanobind::literals;
using namespace labelwood;

namespace {

template <class T>
NewArray<T> copied(const Buffer<T>& buffer) {
  Buffer<T> copy(buffer.size());
  std::copy(buffer.begin(), buffer.end(), copy.begin());
  return to_numpy(std::move(copy));
}

// As scipy keeps them: with both kinds of index of one type, the narrow one if it is wide enough.
nb::tuple to_scipy(Csr&& m) {
  if (m.indices.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) return to_numpy(std::move(m));
  Buffer<int32_t> indptr(m.indptr.size());
  std::copy(m.indptr.begin(), m.indptr.end(), indptr.begin());
  return nb::make_tuple(to_numpy(std::move(indptr)), to_numpy(std::move(m.indices)), to_numpy(std::move(m.values)));
}

// Values of rows brought to unit length; none if all are that long already but for the tolerance.
std::optional<NewArray<float>> unit_values(const Array<int64_t>& indptr, const Array<float>& values, double tolerance) {
  CsrView X{view(indptr), {}, view(values), 0};
  check_pointers(X.indptr, std::ssize(X.values), X.n_rows());
  Buffer<float> out = without_gil([&] {
    Buffer<double> squares(X.n_rows());
    bool all = true;
    for (int64_t row = 0; row < X.n_rows(); ++row) {
      squares[row] = squared_length(X.row_values(row));
      all = all && (squares[row] == 0 || std::abs(squares[row] - 1) <= tolerance);
    }
    if (all) return Buffer<float>();
    Buffer<float> scaled(values.size());
    for (int64_t row = 0; row < X.n_rows(); ++row) {
      const double scale = unit_scale(squares[row]);
      for (int64_t i = X.indptr[row]; i < X.indptr[row + 1]; ++i) scaled[i] = static_cast<float>(X.values[i] * scale);
    }
    return scaled;
  });
  if (out.size() == 0) return std::nullopt;
  return to_numpy(std::move(out));
}

template <class I>
bool check_compressed(const Array<I>& indptr, const Array<I>& indices, int64_t n_values, int64_t n_runs,
                      int64_t n_places) {
  return without_gil([&] { return places_ascend(view(indptr), view(indices), n_values, n_runs, n_places); });
}

// The same for the arrays of a csr matrix as scipy mostly has them; none where they need more care, as infinite values
// do.
std::optional<bool> rows_ascend(nb::handle indptr, nb::handle indices, nb::handle values, int64_t n_rows,
                                int64_t n_cols, bool finite) {
  const auto checked = [&]<class I>(I) -> std::optional<bool> {
    Array<float> numbers;
    Array<I> ends, columns;
    if (!nb::try_cast(values, numbers, false) || !nb::try_cast(indptr, ends, false) ||
        !nb::try_cast(indices, columns, false))
      return {};
    const bool ascend = places_ascend(view(ends), view(columns), static_cast<int64_t>(numbers.size()), n_rows, n_cols);
    if (finite && !all_finite(view(numbers))) return {};
    return ascend;
  };
  if (n_cols > std::numeric_limits<int32_t>::max()) return {};
  const auto narrow = checked(int32_t{});
  return narrow ? narrow : checked(int64_t{});
}

void check_members(int64_t n_rows, const CsrView& members) {
  if (members.n_cols != n_rows) throw Error("the labels' members do not match the rows");
}

nb::tuple sparse_centroids(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                           int64_t n_cols, const Array<int64_t>& member_indptr, const Array<int32_t>& member_indices,
                           int64_t n_rows, int64_t max_features, Threads n_threads) {
  const CsrView X = csr_view(indptr, indices, values, n_cols),
                members = pattern_view(member_indptr, member_indices, n_rows);
  check_members(X.n_rows(), members);
  return to_numpy(without_gil([&] { return centroids(X, members, max_features, n_threads); }));
}

NewMatrix<float> dense_centroids(const Matrix<float>& rows, const Array<int64_t>& member_indptr,
                                 const Array<int32_t>& member_indices, int64_t n_rows, Threads n_threads) {
  const DenseView X = dense_view(rows);
  const CsrView members = pattern_view(member_indptr, member_indices, n_rows);
  check_members(X.n_rows, members);
  return to_numpy(without_gil([&] { return centroids(X, members, n_threads); }), members.n_rows(), X.n_cols);
}

nb::tuple sparse_centroid_topk(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                               int64_t n_cols, const Array<int64_t>& weight_indptr,
                               const Array<int32_t>& weight_indices, const Array<float>& weight_values,
                               int64_t n_labels, int64_t k, const Array<uint8_t>& allowed, float min_score,
                               Threads n_threads) {
  const CsrView X = csr_view(indptr, indices, values, n_cols);
  const CsrView weights = trusted_csr_view(weight_indptr, weight_indices, weight_values, n_labels);
  if (weights.n_rows() != n_cols || k < 1) throw Error("the rows have other features than the centroids");
  const auto labels = allowed_view(allowed, n_labels);
  return to_numpy(without_gil([&] { return rank_by_centroids(X, weights, {k, min_score, labels}, n_threads); }));
}

// An index and the prototypes it looks at.
class IndexOfPrototypes {
 public:
  IndexOfPrototypes(const Matrix<float>& prototypes, const Matrix<int32_t>& clusters, const Matrix<float>& directions,
                    Threads n_threads)
      : prototypes_(prototypes),
        index_(made(dense_view(prototypes_), {{clusters.data(), clusters.size()}, dense_view(directions)}, n_threads)) {
  }

  nb::tuple topk(const Matrix<float>& queries, int64_t k, const Array<uint8_t>& allowed, float min_score,
                 int64_t probes, const Array<int64_t>& needed, Threads n_threads) const {
    const DenseView X = dense_view(queries), W = dense_view(prototypes_);
    if (X.n_cols != W.n_cols || k < 1) throw Error("the queries have other numbers than the prototypes");
    if (std::ssize(view(needed)) != X.n_rows) throw Error("what is needed is of another number of queries");
    const CentroidOptions options{k, min_score, allowed_view(allowed, W.n_rows)};
    return to_numpy(without_gil([&] {
      return probes > 0 ? index_.topk_of_clusters(X, options, probes, view(needed), n_threads)
                        : index_.topk(X, options, n_threads);
    }));
  }

 private:
  static PrototypeIndex made(const DenseView& prototypes, const IndexParts& parts, int n_threads) {
    const auto& [clusters, directions] = parts;
    if (!clusters.empty() && std::ssize(clusters) != 2 * prototypes.n_rows)
      throw Error("the clusters are not two for each label");
    for (int32_t cluster : clusters)
      if (cluster < 0 || cluster >= prototypes.n_rows) throw Error("there are more clusters than labels");
    if (directions.n_cols > 0 && directions.n_rows != prototypes.n_cols)
      throw Error("the directions have other numbers than the prototypes");
    return without_gil([&] { return PrototypeIndex(prototypes, parts, n_threads); });
  }

  Matrix<float> prototypes_;
  PrototypeIndex index_;
};

nb::tuple dense_centroid_topk(const Matrix<float>& rows, const Matrix<float>& weights, int64_t k,
                              const Array<uint8_t>& allowed, float min_score, Threads n_threads) {
  const DenseView X = dense_view(rows), W = dense_view(weights);
  if (X.n_cols != W.n_cols || k < 1) throw Error("the rows have other features than the centroids");
  const auto labels = allowed_view(allowed, W.n_rows);
  return to_numpy(without_gil([&] { return rank_by_centroids(X, W, {k, min_score, labels}, n_threads); }));
}

NewMatrix<float> dense_product_of(const Matrix<float>& rows, const Matrix<float>& matrix, Threads n_threads) {
  const DenseView X = dense_view(rows), M = dense_view(matrix);
  if (X.n_cols != M.n_rows) throw Error("the rows have other features than the matrix");
  return to_numpy(without_gil([&] { return dense_product(X, M, n_threads); }), X.n_rows, M.n_cols);
}

// Vectors to cluster are about as long as one: products of longer ones may be too large to have an order.
CsrView vectors_view(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                     int64_t n_cols) {
  const CsrView vectors = csr_view(indptr, indices, values, n_cols);
  float largest = 0;
  for (float v : vectors.values) largest = std::max(largest, std::abs(v));
  if (largest > 1e6f) throw Error("the vectors are too long: bring them to unit length");
  return vectors;
}

void check_weights(std::span<const double> weights) {
  for (double weight : weights)
    if (!(weight >= 0 && weight <= 1e100)) throw Error("a label's frequency is not a number of at least 0");
}

nb::tuple balanced_tree_of(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                           int64_t n_cols, int arity, int max_leaf, uint64_t seed, Threads n_threads) {
  const CsrView vectors = vectors_view(indptr, indices, values, n_cols);
  if (arity < 2 || max_leaf < 1 || vectors.n_rows() < 1)
    throw Error("a tree needs labels, arity 2 or more and max_leaf 1 or more");
  Tree tree = without_gil(
      [&] { return balanced_tree(vectors, {.arity = arity, .max_leaf = max_leaf, .seed = seed}, n_threads); });
  return nb::make_tuple(to_numpy(std::move(tree.child_ptr)), to_numpy(std::move(tree.label_ptr)),
                        to_numpy(std::move(tree.labels)));
}

nb::tuple interpolated_tree_of(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                               int64_t n_cols, const Array<double>& frequency, const Array<double>& covering,
                               double lam, double smoothing, bool midpoint, int arity, int max_leaf, uint64_t seed,
                               Threads n_threads) {
  const CsrView vectors = vectors_view(indptr, indices, values, n_cols);
  const LabelWeights weights{view(frequency), view(covering)};
  check_weights(weights.frequency);
  check_weights(weights.covering);
  if (!(lam >= 0 && lam <= 2 && smoothing >= 0 && smoothing <= 1e100))
    throw Error("lam must be from 0 to 2, and smoothing at least 0");
  if (arity < 2 || max_leaf < 1 || vectors.n_rows() < 1)
    throw Error("a tree needs labels, arity 2 or more and max_leaf 1 or more");
  if (std::ssize(weights.frequency) != vectors.n_rows() || std::ssize(weights.covering) != vectors.n_rows())
    throw Error("every label needs its frequency");
  Tree tree = without_gil([&] {
    return interpolated_tree(vectors, weights, {lam, smoothing, midpoint},
                             {.arity = arity, .max_leaf = max_leaf, .seed = seed}, n_threads);
  });
  return nb::make_tuple(to_numpy(std::move(tree.child_ptr)), to_numpy(std::move(tree.label_ptr)),
                        to_numpy(std::move(tree.labels)));
}

nb::tuple kmeans_tree_of(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                         int64_t n_cols, int arity, int max_leaf, int min_size, int max_depth, uint64_t seed,
                         Threads n_threads) {
  const CsrView vectors = vectors_view(indptr, indices, values, n_cols);
  if (arity < 2 || max_leaf < 1 || min_size < 1 || vectors.n_rows() < 1)
    throw Error("a tree needs labels, arity 2 or more, max_leaf 1 or more and min_size 1 or more");
  // Rounds cost more than in halving, and the last of them move few labels.
  const ClusterOptions options{.arity = arity,
                               .max_leaf = max_leaf,
                               .min_size = min_size,
                               .max_depth = max_depth,
                               .tolerance = 3e-4f,
                               .seed = seed};
  Tree tree = without_gil([&] { return kmeans_tree(vectors, options, n_threads); });
  return nb::make_tuple(to_numpy(std::move(tree.child_ptr)), to_numpy(std::move(tree.label_ptr)),
                        to_numpy(std::move(tree.labels)));
}

// Integers of either width that scipy uses; false if they are none, or too large.
bool read_integers(nb::handle array, std::vector<int32_t>& out) {
  const auto copy = [&](const auto& numbers) {
    for (auto n : view(numbers))
      if (std::in_range<int32_t>(n)) out.push_back(static_cast<int32_t>(n));
    return out.size() == numbers.size();
  };
  if (Array<int32_t> narrow; nb::try_cast(array, narrow, false)) return copy(narrow);
  if (Array<int64_t> wide; nb::try_cast(array, wide, false)) return copy(wide);
  return false;
}

// A tree with its classifiers, ready to be searched: keeps the arrays alive, which may be mapped from a file.
class TreeModel {
 public:
  TreeModel(const nb::tuple& tree, const nb::tuple& blocks, int stored, int64_t n_features, int64_t n_labels,
            bool mean_of_copies)
      : tree_(tree), blocks_(blocks), n_labels_(n_labels) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (n_features < 0 || n_features > kMost || n_labels < 0 || n_labels > kMost)
      throw Error("there are too many features or labels");
    model_.tree = tree_.value();
    model_.with_copies = std::ssize(model_.tree.labels) > n_labels;
    // Whatever else is trusted of a mapped model: limits are looked up by label, and answers name labels.
    for (int32_t label : model_.tree.labels)
      if (label < 0 || label >= n_labels) throw Error("the tree holds a label that is none of the model's");
    if (mean_of_copies && model_.with_copies) model_.means.emplace(tree_.checked(n_labels), n_labels);
    model_.blocks = {.n_features = n_features,
                     .stored = one_of<simd::Stored>(stored, 3),
                     .sibling_ptr = part<int64_t>(blocks, 0),
                     .segment_ptr = part<int32_t>(blocks, 1),
                     .top_bits = part<uint64_t>(blocks, 2),
                     .top_ranks = part<uint32_t>(blocks, 3),
                     .word_ptr = part<int64_t>(blocks, 4),
                     .word_bits = part<uint64_t>(blocks, 5),
                     .word_ranks = part<uint32_t>(blocks, 6),
                     .row_ptr = part<int64_t>(blocks, 7),
                     .row_starts = part<uint32_t>(blocks, 8),
                     .byte_ptr = part<int64_t>(blocks, 9),
                     .bytes = part<uint8_t>(blocks, 10),
                     .biases = part<float>(blocks, 11),
                     .scales = part<float>(blocks, 12),
                     .feature_numbers = part<int32_t>(blocks, 13)};
  }

  // Raises unless every index in the arrays stays within them; search relies on it.
  void check() const {
    check_tree(model_.tree, n_labels_);
    check_blocks(model_.tree, model_.blocks);
  }

  // The weights of a node: numbers of features, siblings and values.
  nb::tuple block(int32_t node) const {
    const BlocksView& b = model_.blocks;
    if (node < 0 || node >= model_.tree.n_nodes()) throw Error("the tree has no such node");
    std::vector<int32_t> features, siblings;
    std::vector<float> values;
    for (int32_t s = b.segment_ptr[node]; s < b.segment_ptr[node + 1]; ++s) {
      const int32_t first = (s - b.segment_ptr[node]) * kSegment,
                    width = std::min(model_.tree.n_siblings(node) - first, kSegment);
      const SegmentEntries found = unpacked(b, s, width, b.sibling_ptr[node] + first);
      features.insert(features.end(), found.features.begin(), found.features.end());
      for (uint8_t column : found.columns) siblings.push_back(first + column);
      values.insert(values.end(), found.values.begin(), found.values.end());
    }
    return nb::make_tuple(to_numpy(std::move(features)), to_numpy(std::move(siblings)), to_numpy(std::move(values)));
  }

  nb::tuple topk(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                 int64_t n_cols, int64_t k, int64_t beam, int transform, float path_weight, bool best_first,
                 float min_score, bool unit_rows, const Array<uint8_t>& allowed, float slack, Threads n_threads) const {
    const CsrView X = rows(indptr, indices, values, n_cols, k);
    const auto labels = allowed_view(allowed, n_labels_);
    const SearchOptions options{
        k, beam, one_of<Transform>(transform, 2), path_weight, best_first, min_score, unit_rows, labels, slack};
    SearchCounts c;
    nb::tuple answers = to_numpy(without_gil([&] { return search(model_, X, options, n_threads, c); }));
    return nb::make_tuple(answers[0], answers[1], nb::make_tuple(c.nodes, c.leaves, c.children, c.labels, c.bytes));
  }

  // A few rows from a vectorizer, on the calling thread; None if they have other features.
  nb::object few_rows(const Csr& X, int64_t k, int64_t beam, int transform, float path_weight, bool unit_rows,
                      float slack) const {
    if (X.n_cols != model_.blocks.n_features) return nb::none();
    return found({{X.indptr.data(), X.indptr.size()},
                  {X.indices.data(), X.indices.size()},
                  {X.values.data(), X.values.size()},
                  X.n_cols},
                 exact(k, beam, transform, path_weight, unit_rows, true), slack);
  }

  // A single row as scipy has it, if it can be searched as it is; else None. What Python would do for many rows at once
  // would take longer here than the search.
  nb::object one_row(nb::handle indptr, nb::handle indices, nb::handle values, int64_t n_cols, int64_t k, int64_t beam,
                     int transform, float path_weight, bool unit_rows, float slack) const {
    std::vector<int32_t> ends, features;
    Array<float> x;
    if (!read_integers(indptr, ends) || !read_integers(indices, features) || !nb::try_cast(values, x, false))
      return nb::none();
    const int64_t row[2] = {0, std::ssize(features)};
    if (n_cols != model_.blocks.n_features || ends != std::vector<int32_t>{0, static_cast<int32_t>(row[1])} ||
        x.size() != features.size())
      return nb::none();
    const CsrView X{row, features, view(x), n_cols};
    int32_t last = -1;
    bool sound = true;
    for (int64_t i = 0; i < row[1]; ++i) {
      sound = sound & (X.indices[i] > last) & std::isfinite(X.values[i]);
      last = X.indices[i];
    }
    if (!sound || last >= n_cols) return nb::none();
    return found(X, exact(k, beam, transform, path_weight, unit_rows, true), slack);
  }

  nb::tuple reached(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                    int64_t n_cols, int64_t beam, int transform, float path_weight, bool unit_rows, int32_t first,
                    Threads n_threads) const {
    const CsrView X = rows(indptr, indices, values, n_cols, 1);
    const SearchOptions options = exact(1, beam, transform, path_weight, unit_rows, false);
    Reached found = without_gil([&] { return labelwood::reached(model_, X, options, first, n_threads); });
    return nb::make_tuple(to_numpy(std::move(found.row_ptr)), to_numpy(std::move(found.nodes)));
  }

  NewArray<float> slacks(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                         int64_t n_cols, int64_t k, int64_t beam, int transform, float path_weight, bool unit_rows,
                         Threads n_threads) const {
    const CsrView X = rows(indptr, indices, values, n_cols, k);
    const SearchOptions options = exact(k, beam, transform, path_weight, unit_rows, true);
    return to_numpy(without_gil([&] { return labelwood::slacks(model_, X, options, n_threads); }));
  }

  NewArray<double> seconds(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                           int64_t n_cols, int64_t k, int64_t beam, int transform, float path_weight, bool unit_rows,
                           bool best_first) const {
    const CsrView X = rows(indptr, indices, values, n_cols, k);
    const SearchOptions options = exact(k, beam, transform, path_weight, unit_rows, best_first);
    return to_numpy(without_gil([&] { return labelwood::seconds(model_, X, options); }));
  }

 private:
  nb::tuple found(const CsrView& X, SearchOptions options, float slack) const {
    options.slack = slack;
    SearchCounts counts;
    return to_numpy(without_gil([&] { return search(model_, X, options, 1, counts); }));
  }

  static SearchOptions exact(int64_t k, int64_t beam, int transform, float path_weight, bool unit_rows,
                             bool best_first) {
    return {.k = k,
            .beam = beam,
            .transform = one_of<Transform>(transform, 2),
            .path_weight = path_weight,
            .best_first = best_first,
            .unit_rows = unit_rows,
            .allowed = {}};
  }

  CsrView rows(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values, int64_t n_cols,
               int64_t k) const {
    if (k < 1 || n_cols != model_.blocks.n_features) throw Error("the rows have other features than the tree");
    return csr_view(indptr, indices, values, n_cols);
  }

  template <class T>
  static std::span<const T> part(const nb::tuple& arrays, size_t i) {
    return view(array_in<Array<T>>(arrays, i));
  }

  TreeArgument tree_;
  nb::tuple blocks_;
  int64_t n_labels_;
  SearchTree model_;
};

nb::tuple train_tree(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                     int64_t n_cols, const Array<int64_t>& member_indptr, const Array<int32_t>& member_indices,
                     int64_t n_rows, const nb::tuple& tree, int loss, float cost, float positive_weight, float bias,
                     float tolerance, int max_iterations, float threshold, int64_t max_weights, int stored,
                     uint64_t seed, const Array<int32_t>& feature_numbers, const Array<float>& row_weights,
                     const Array<int32_t>& nodes, bool rows_with_labels, const Array<int64_t>& matched_indptr,
                     const Array<int32_t>& matched_indices, Threads n_threads, Progress& progress) {
  const CsrView X = csr_view(indptr, indices, values, n_cols),
                members = pattern_view(member_indptr, member_indices, n_rows);
  check_members(X.n_rows(), members);
  const TreeArgument arrays(tree);
  const TreeView shape = arrays.checked(members.n_rows());
  if (row_weights.size() != 0 && static_cast<int64_t>(row_weights.size()) != X.n_rows())
    throw Error("there is not one weight for each row");
  for (int32_t node : view(nodes))
    if (node < 0 || node >= shape.n_nodes()) throw Error("the tree has no such node");
  if (feature_numbers.size() != 0 && static_cast<int64_t>(feature_numbers.size()) != n_cols)
    throw Error("there is not one number for each feature");
  CsrView matched;
  if (matched_indptr.size() != 0) matched = pattern_view(matched_indptr, matched_indices, n_rows);
  if (matched_indptr.size() != 0 && matched.n_rows() != static_cast<int64_t>(nodes.size()))
    throw Error("there are not rows for each trained node");
  const TrainingOptions options{one_of<Loss>(loss, 2),
                                cost,
                                positive_weight,
                                bias,
                                tolerance,
                                max_iterations,
                                threshold,
                                max_weights,
                                one_of<simd::Stored>(stored, 3),
                                seed,
                                view(feature_numbers),
                                view(row_weights),
                                view(nodes),
                                rows_with_labels,
                                matched};
  Blocks b = without_gil([&] { return train(X, members, shape, options, n_threads, progress); });
  return nb::make_tuple(to_numpy(std::move(b.sibling_ptr)), to_numpy(std::move(b.segment_ptr)),
                        to_numpy(std::move(b.top_bits)), to_numpy(std::move(b.top_ranks)),
                        to_numpy(std::move(b.word_ptr)), to_numpy(std::move(b.word_bits)),
                        to_numpy(std::move(b.word_ranks)), to_numpy(std::move(b.row_ptr)),
                        to_numpy(std::move(b.row_starts)), to_numpy(std::move(b.byte_ptr)),
                        to_numpy(std::move(b.bytes)), to_numpy(std::move(b.biases)), to_numpy(std::move(b.scales)));
}

// The leaves of each label: counted, most rows first, up to `copies` of them; or where leaves have limits, fitted.
nb::tuple label_places(const Array<int64_t>& member_indptr, const Array<int32_t>& member_indices,
                       const Array<int64_t>& reached_indptr, const Array<int32_t>& reached_indices, int64_t n_leaves,
                       const Array<int64_t>& own_indptr, const Array<int32_t>& own_indices, int64_t copies,
                       const Array<int64_t>& room, Threads n_threads) {
  const CsrView reached = pattern_view(reached_indptr, reached_indices, n_leaves),
                own = pattern_view(own_indptr, own_indices, n_leaves);
  const CsrView members = pattern_view(member_indptr, member_indices, reached.n_rows());
  if (own.n_rows() != members.n_rows()) throw Error("there are not leaves for each label");
  const auto limits = view(room);
  if (!limits.empty() && std::ssize(limits) != n_leaves) throw Error("there is not a limit for each leaf");
  for (int64_t limit : limits)
    if (limit < 0 || limit > std::numeric_limits<int32_t>::max()) throw Error("a leaf's limit is out of range");
  if (!limits.empty() && std::accumulate(limits.begin(), limits.end(), int64_t{0}) < own.n_rows())
    throw Error("the leaves have no room for all labels");
  Places found = without_gil([&] {
    if (limits.empty()) return counted(members, reached, own, copies, n_threads);
    return fitted(counted(members, reached, own, 0, n_threads), own, copies, limits);
  });
  return nb::make_tuple(to_numpy(std::move(found.label_ptr)), to_numpy(std::move(found.leaves)),
                        to_numpy(std::move(found.counts)));
}

nb::tuple mean_answers(const nb::list& answers, int64_t k, int64_t tier, Threads n_threads) {
  std::vector<Matrix<int32_t>> ids;
  std::vector<Matrix<float>> scores;
  std::vector<AnswersView> models;
  for (const nb::handle& one : answers) {
    const auto answer = nb::cast<nb::tuple>(one);
    const auto& i = ids.emplace_back(array_in<Matrix<int32_t>>(answer, 0));
    const auto& s = scores.emplace_back(array_in<Matrix<float>>(answer, 1));
    if (i.shape(0) != ids[0].shape(0) || i.shape(0) != s.shape(0) || i.shape(1) != s.shape(1))
      throw Error("answers of different shapes");
    models.push_back({{i.data(), i.size()}, {s.data(), s.size()}, static_cast<int64_t>(i.shape(1))});
  }
  if (models.empty() || k < 1 || tier < 1) throw Error("there are no answers to average");
  const int64_t n_rows = static_cast<int64_t>(ids[0].shape(0));
  return to_numpy(without_gil([&] { return mean_of(models, n_rows, k, tier, n_threads); }));
}

nb::tuple read_sparse_text(nb::bytes text, bool labels, bool svmlight, int64_t n_labels, int64_t n_features,
                           Threads n_threads) {
  const std::string_view bytes(text.c_str(), text.size());
  SparseRows rows =
      without_gil([&] { return parse_sparse_text(bytes, {labels, svmlight, n_labels, n_features}, n_threads); });
  const int64_t label_columns = rows.labels.n_cols, feature_columns = rows.features.n_cols;
  return nb::make_tuple(to_numpy(std::move(rows.labels)), label_columns, to_numpy(std::move(rows.features)),
                        feature_columns);
}

nb::tuple places(nb::bytes term) {
  if (term.size() <= 16) throw Error("the term is too short");
  const auto* p = reinterpret_cast<const uint8_t*>(term.c_str());
  const auto first = hashing::load<uint64_t>(p), last = hashing::load<uint64_t>(p + 8);
  return nb::make_tuple(hashing::of_ends(first, last), hashing::of_long(p, term.size()),
                        hashing::of_id(static_cast<uint32_t>(first)));
}

size_t csv_rows_end_of(nb::bytes text, char delimiter) {
  const std::string_view rows(text.c_str(), text.size());
  return without_gil([&] { return csv_rows_end(rows, delimiter); });
}

nb::tuple part_marked_lines_of(nb::bytes text, nb::bytes prefix) {
  const std::string_view lines(text.c_str(), text.size()), mark(prefix.c_str(), prefix.size());
  MarkedLines m = without_gil([&] { return part_marked_lines(lines, mark); });
  return nb::make_tuple(to_numpy(std::move(m.texts)), to_numpy(std::move(m.text_offsets)),
                        to_numpy(std::move(m.marked)), to_numpy(std::move(m.marked_offsets)),
                        to_numpy(std::move(m.line_ends)));
}

nb::bytes write_sparse_text(const Array<int64_t>& label_indptr, const Array<int32_t>& label_indices,
                            const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                            Threads n_threads) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const CsrView labels = pattern_view(label_indptr, label_indices, kAny),
                features = csr_view(indptr, indices, values, kAny);
  if (labels.n_rows() != 0 && labels.n_rows() != features.n_rows())
    throw Error("labels and features have different numbers of rows");
  const std::string text = without_gil([&] { return format_sparse_text(labels, features, n_threads); });
  return nb::bytes(text.data(), text.size());
}

void check_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Metrics.

template <class Sums, class T>
nb::list column_of(const std::vector<Sums>& sums, T Sums::* field) {
  nb::list column;
  for (const Sums& at_k : sums) column.append(at_k.*field);
  return column;
}

nb::dict to_python(Ranking&& r) {
  nb::dict result;
  result["predicted"] = column_of(r.rows, &RowSums::predicted);
  result["correct"] = column_of(r.rows, &RowSums::correct);
  result["recall"] = column_of(r.rows, &RowSums::recall);
  result["ndcg"] = column_of(r.rows, &RowSums::ndcg);
  result["gain"] = column_of(r.rows, &RowSums::gain);
  result["best_gain"] = column_of(r.rows, &RowSums::best_gain);
  result["psndcg"] = column_of(r.rows, &RowSums::psndcg);
  result["best_psndcg"] = column_of(r.rows, &RowSums::best_psndcg);
  result["covered"] = column_of(r.labels, &LabelSums::covered);
  result["in_use"] = column_of(r.labels, &LabelSums::in_use);
  result["f1"] = column_of(r.labels, &LabelSums::f1);
  result["n_true"] = r.n_true;
  result["n_occurring"] = r.n_occurring;
  result["label_truths"] = to_numpy(std::move(r.truths));
  result["label_predictions"] = to_numpy(std::move(r.predictions));
  result["label_corrects"] = to_numpy(std::move(r.corrects));
  return result;
}

nb::dict rank_predictions_of(const Matrix<int32_t>& ids, const Array<int64_t>& indptr, const Array<int32_t>& indices,
                             const Array<float>& values, int64_t n_cols, const Array<int32_t>& ks,
                             const Array<double>& gains, bool count_labels, Threads n_threads) {
  const Predictions top{
      {ids.data(), ids.size()}, static_cast<int64_t>(ids.shape(0)), static_cast<int64_t>(ids.shape(1))};
  const CsrView truth = csr_view(indptr, indices, values, n_cols);
  return to_python(
      without_gil([&] { return rank_predictions(top, truth, {view(ks), view(gains), count_labels}, n_threads); }));
}

nb::tuple best_entries_of(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                          int64_t n_cols, int64_t k, Threads n_threads) {
  if (k < 1) throw Error("k must be at least 1");
  const CsrView scores = any_csr_view(indptr, indices, values, n_cols);
  return to_numpy(without_gil([&] { return best_entries(scores, k, n_threads); }));
}

nb::object error_class(const char* name) { return nb::module_::import_("labelwood.errors").attr(name); }

void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const LineError& e) {
    nb::object error = error_class("NativeLineError")(e.what(), e.line);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (const Error& e) {
    PyErr_SetString(error_class("LabelwoodError").ptr(), e.what());
  }
}

// ---- texts ----

// What the running Python says of each code point, so that tokens are those of its `re` and `str.lower`.
const UnicodeTable& python_unicode() {
  static const UnicodeTable table([](uint32_t point) {
    const auto c = static_cast<Py_UCS4>(point);
    return CharInfo{Py_UNICODE_TOLOWER(c), Py_UNICODE_ISALNUM(c) || point == '_', Py_UNICODE_ISSPACE(c) != 0};
  });
  return table;
}

// Texts from Python: a list of str, or the (offsets, bytes) of an Arrow array. Both are read in place, save that
// strings outside ASCII are encoded first. Nobody else may change the list.
class TextsArgument {
 public:
  TextsArgument() = default;
  explicit TextsArgument(const nb::object& texts) {
    if (nb::isinstance<nb::list>(texts))
      read_list(texts);
    else
      read_arrays(nb::cast<nb::tuple>(texts));
  }
  Texts value() const { return texts_; }

  // Anyone's list, if it holds nothing but plain strings; else none of it is read. Strings with a capital sigma come
  // out in lower case if wanted: which small one it becomes depends on its neighbours, and Python knows the rule.
  bool read_plain(nb::handle list, bool lower_sigma) {
    if (!PyList_CheckExact(list.ptr())) return false;
    const Py_ssize_t n = PyList_GET_SIZE(list.ptr());
    texts_.reserve(n);
    kept_.reserve(n);
    for (Py_ssize_t row = 0; row < n; ++row)
      if (!add_plain(nb::borrow(PyList_GET_ITEM(list.ptr(), row)), lower_sigma)) return false;
    return true;
  }

 private:
  void read_list(const nb::object& list) {
    const Py_ssize_t n = PyList_GET_SIZE(list.ptr());
    texts_.reserve(n);
    for (Py_ssize_t row = 0; row < n; ++row) {
      PyObject* text = PyList_GET_ITEM(list.ptr(), row);
      if (!PyUnicode_Check(text)) throw Error("text " + std::to_string(row) + " is not a str");
      if (PyUnicode_IS_COMPACT_ASCII(text)) {
        add_ascii(text);
      } else if (!encode(text)) {
        throw Error("text " + std::to_string(row) +
                    " holds half of a surrogate pair, which is no character: "
                    "remove it with text.encode('utf-8', 'ignore').decode()");
      }
    }
  }

  bool add_plain(nb::object text, bool lower_sigma) {
    constexpr Py_UCS4 kCapitalSigma = 0x3A3;
    if (!PyUnicode_CheckExact(text.ptr())) return false;
    if (PyUnicode_IS_COMPACT_ASCII(text.ptr())) {
      add_ascii(text.ptr());
      kept_.push_back(std::move(text));
      return true;
    }
    if (lower_sigma && PyUnicode_FindChar(text.ptr(), kCapitalSigma, 0, PyUnicode_GET_LENGTH(text.ptr()), 1) >= 0)
      text = text.attr("lower")();
    return encode(text.ptr());
  }

  void add_ascii(PyObject* text) { texts_.emplace_back(PyUnicode_1BYTE_DATA(text), PyUnicode_GET_LENGTH(text)); }

  // The bytes live as long as this object, not as long as the string, as Python's own cache would. Returns whether all
  // of the text are characters.
  bool encode(PyObject* text) {
    PyObject* bytes = PyUnicode_AsUTF8String(text);
    if (bytes == nullptr) {
      if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
      PyErr_Clear();
      return false;
    }
    kept_.push_back(nb::steal(bytes));
    texts_.emplace_back(reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes)), PyBytes_GET_SIZE(bytes));
    return true;
  }

  void read_arrays(const nb::tuple& arrays) {
    kept_.push_back(arrays);
    const auto at = view(array_in<Array<int64_t>>(arrays, 0));
    const auto all = view(array_in<Array<uint8_t>>(arrays, 1));
    for (size_t i = 0; i + 1 < at.size(); ++i) {
      if (at[i] < 0 || at[i] > at[i + 1] || at[i + 1] > static_cast<int64_t>(all.size()))
        throw Error("texts have offsets that do not match their bytes");
      texts_.push_back(all.subspan(at[i], at[i + 1] - at[i]));
    }
  }

  std::vector<nb::object> kept_;
  std::vector<Text> texts_;
};

// Arrays taken out of a Python tuple, kept alive next to the view of them.
struct VocabularyArgument {
  Array<uint8_t> bytes;
  Array<int64_t> offsets;

  explicit VocabularyArgument(const nb::tuple& t)
      : bytes(array_in<Array<uint8_t>>(t, 0)), offsets(array_in<Array<int64_t>>(t, 1)) {}
  Vocabulary value() const { return {view(bytes), view(offsets)}; }
};

// (unit, min_n, max_n, min_token, lowercase, stop words or None)
struct AnalysisArgument {
  std::optional<VocabularyArgument> stop_words;
  std::unique_ptr<const TermIndex> stop_index;
  Analysis value;

  explicit AnalysisArgument(const nb::tuple& t) {
    if (const auto words = part_in<nb::object>(t, 5); !words.is_none()) {
      stop_words.emplace(part_in<nb::tuple>(t, 5));
      check_contents(stop_words->value());
      stop_index = std::make_unique<TermIndex>(stop_words->value());
    }
    value = {&python_unicode(),  one_of<Unit>(part_in<int>(t, 0), 3),
             part_in<int>(t, 1), part_in<int>(t, 2),
             part_in<int>(t, 3), part_in<bool>(t, 4),
             stop_index.get()};
  }
};

// (binary, sublinear, norm, idf or None)
struct WeighingArgument {
  std::optional<Array<double>> idf;
  Weighing value;

  WeighingArgument(const nb::tuple& t, int64_t n_cols) {
    if (!part_in<nb::object>(t, 3).is_none()) idf = array_in<Array<double>>(t, 3);
    value = {part_in<bool>(t, 0), part_in<bool>(t, 1), one_of<Norm>(part_in<int>(t, 2), 3),
             idf ? view(*idf) : std::span<const double>{}};
    if (idf && static_cast<int64_t>(idf->size()) != n_cols) throw Error("idf has a different size than the vocabulary");
  }
};

nb::tuple to_numpy(Terms&& terms) {
  return nb::make_tuple(to_numpy(std::move(terms.bytes)), to_numpy(std::move(terms.offsets)));
}

nb::tuple to_numpy(CountMatrix&& m) {
  return nb::make_tuple(to_numpy(std::move(m.indptr)), to_numpy(std::move(m.indices)), to_numpy(std::move(m.counts)));
}

nb::tuple count_terms_of(const nb::object& texts, const nb::tuple& analysis, bool with_matrix, Threads n_threads) {
  const AnalysisArgument how(analysis);
  const TextsArgument all(texts);
  TermCounts out = without_gil([&] { return count_terms(all.value(), how.value, with_matrix, n_threads); });
  return nb::make_tuple(to_numpy(std::move(out.terms)), to_numpy(std::move(out.n_texts)),
                        to_numpy(std::move(out.occurrences)), to_numpy(std::move(out.matrix)));
}

nb::tuple count_buckets_of(const nb::object& texts, const nb::tuple& analysis, int32_t n_buckets, Threads n_threads) {
  const AnalysisArgument how(analysis);
  const TextsArgument all(texts);
  if (n_buckets < 1) throw Error("n_buckets must be at least 1");
  return to_numpy(without_gil([&] { return count_buckets(all.value(), how.value, n_buckets, n_threads); }));
}

nb::tuple weigh_counts(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<int32_t>& counts,
                       const Array<int32_t>& columns, int64_t n_cols, const nb::tuple& weighing, Threads n_threads) {
  const WeighingArgument how(weighing, n_cols);
  pattern_view(indptr, indices, columns.size() == 0 ? n_cols : static_cast<int64_t>(columns.size()));
  if (indices.size() != counts.size()) throw Error("counts have another number of entries than of columns");
  for (int32_t column : view(columns))
    if (column < -1 || column >= n_cols) throw Error("a term's column is outside the matrix");
  return to_scipy(without_gil(
      [&] { return weigh(view(indptr), view(indices), view(counts), view(columns), n_cols, how.value, n_threads); }));
}

// A fitted vectorizer: keeps the arrays alive, which may be mapped from a file.
class Vectorizer {
 public:
  Vectorizer(const nb::tuple& analysis, const std::optional<nb::tuple>& vocabulary, int32_t n_cols,
             const nb::tuple& weighing)
      : how_(analysis), weights_(weighing, n_cols), n_cols_(n_cols) {
    if (!vocabulary && n_cols < 1) throw Error("there must be one column at least");
    if (!vocabulary) return;
    terms_.emplace(*vocabulary);
    if (terms_->value().size() != n_cols) throw Error("the vocabulary has another number of terms than of columns");
    index_ = without_gil([&] { return std::make_unique<TermIndex>(terms_->value()); });
  }

  nb::tuple transform(const nb::object& texts, Threads n_threads) const {
    const TextsArgument all(texts);
    return to_scipy(rows_of(all, n_threads));
  }

  // The same for anyone's list; None unless it holds nothing but plain strings.
  std::optional<nb::tuple> transform_plain(nb::handle list, Threads n_threads) const {
    TextsArgument all;
    if (!all.read_plain(list, how_.value.lowercase)) return std::nullopt;
    return to_scipy(rows_of(all, n_threads));
  }

  // The same as rows of a model with n_cols features, of which the texts' are the first. They stay in native code on
  // their way to the model, so they must be sound: None where a value is not finite.
  std::optional<Csr> rows(nb::handle list, int64_t n_cols) const {
    TextsArgument all;
    if (n_cols < n_cols_ || !all.read_plain(list, how_.value.lowercase)) return std::nullopt;
    Csr out = rows_of(all, 1);
    for (const float value : out.values)
      if (!std::isfinite(value)) return std::nullopt;
    out.n_cols = n_cols;
    return out;
  }

 private:
  Csr rows_of(const TextsArgument& all, int n_threads) const {
    return without_gil([&] {
      return index_ ? labelwood::transform(all.value(), how_.value, *index_, weights_.value, n_threads)
                    : labelwood::transform(all.value(), how_.value, n_cols_, weights_.value, n_threads);
    });
  }

  AnalysisArgument how_;
  WeighingArgument weights_;
  int32_t n_cols_;
  std::optional<VocabularyArgument> terms_;
  std::unique_ptr<const TermIndex> index_;  // none: terms are hashed into columns
};

nb::tuple pick_terms(const Array<uint8_t>& bytes, const Array<int64_t>& offsets, const Array<int64_t>& ids) {
  const Vocabulary all{view(bytes), view(offsets)};
  check_contents(all);
  for (int64_t id : view(ids))
    if (id < 0 || id >= all.size()) throw Error("there is no such term");
  return to_numpy(without_gil([&] { return copy_terms(all, view(ids)); }));
}

nb::tuple number_strings_of(const Array<int64_t>& offsets, const Array<uint8_t>& bytes) {
  const auto ends = view(offsets);
  for (size_t i = 0; i < ends.size(); ++i)
    if (ends[i] < (i == 0 ? 0 : ends[i - 1]) || ends[i] > static_cast<int64_t>(bytes.size()))
      throw Error("strings have offsets that do not match their bytes");
  NumberedStrings out = without_gil([&] { return number_strings({view(bytes), ends}); });
  return nb::make_tuple(to_numpy(std::move(out.numbers)), to_numpy(std::move(out.firsts)));
}

}  // namespace

NB_MODULE(_native, m) {
  nb::register_exception_translator(translate);
  set_interrupt_check(check_signals);

  m.def("simd_level", [] { return simd::kernels().level; }, "The SIMD level chosen for this processor.");

  m.def("read_sparse_text", read_sparse_text, "text"_a, "labels"_a, "svmlight"_a, "n_labels"_a, "n_features"_a,
        "n_threads"_a, "Rows of the field's text format: (labels, label columns, features, feature columns).");
  m.def("places", places, "term"_a,
        "What leads a term of over 16 bytes to its places in tables; other processes have others.");
  m.def("csv_rows_end", csv_rows_end_of, "text"_a, "delimiter"_a,
        "The end of the last whole row of CSV; 0 where none ends.");
  m.def("part_marked_lines", part_marked_lines_of,
        "Of lines of words those without the prefix, as strings' bytes and offsets, and those with it, and ends of "
        "lines.");
  m.def("write_sparse_text", write_sparse_text, "label_indptr"_a, "label_indices"_a, "indptr"_a, "indices"_a,
        "values"_a, "n_threads"_a, "The reverse; without label rows, lines hold features only.");

  m.def(
      "check_csr",
      [](const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values, int64_t n_cols) {
        csr_view(indptr, indices, values, n_cols);
      },
      "Raises unless a sparse matrix is sound.");
  m.def(
      "all_finite", [](const Array<float>& values) { return all_finite(view(values)); },
      "Whether no value is NaN or infinite.");
  m.def("check_compressed", check_compressed<int32_t>,
        "Raises unless runs of places are sound: (indptr, indices, values, runs, places in each). Whether places "
        "ascend in each run.");
  m.def("check_compressed", check_compressed<int64_t>, "The same with wide integers.");
  m.def("rows_ascend", rows_ascend,
        "The same for the arrays of rows with float32 values: (indptr, indices, values, rows, columns, finite). None "
        "where they "
        "have other types, or, if that is asked, a value is not finite.");
  m.def("unit_values", unit_values, "The values of sparse rows brought to unit length, or None if they are.");
  m.def("sparse_centroids", sparse_centroids, "Unit-length sums of each label's rows: labels × features, sparse.");
  m.def("dense_centroids", dense_centroids, "The same for dense rows.");
  m.def("sparse_centroid_topk", sparse_centroid_topk,
        "Ids and scores of the labels whose centroids fit each row best.");
  m.def("dense_centroid_topk", dense_centroid_topk, "The same for dense rows.");
  m.def("dense_product", dense_product_of, "Rows × a matrix; a row's numbers are the same whatever its company.");
  nb::class_<IndexOfPrototypes>(m, "PrototypeIndex")
      .def(nb::init<const Matrix<float>&, const Matrix<int32_t>&, const Matrix<float>&, Threads>())
      .def("topk", &IndexOfPrototypes::topk,
           "What dense_centroid_topk finds, in less time; or the best of some clusters.");

  m.def("balanced_tree", balanced_tree_of,
        "A label tree by balanced spherical 2-means: (child_ptr, label_ptr, labels).");
  m.def("interpolated_tree", interpolated_tree_of, "The same by halves between likeness and frequency.");
  m.def("kmeans_tree", kmeans_tree_of, "The same by spherical k-means with clusters of any size.");

  nb::class_<Csr>(m, "Rows", "Sound rows of features on their way from a vectorizer to a model.")
      .def(
          "arrays",
          [](const Csr& rows) {
            return nb::make_tuple(copied(rows.indptr), copied(rows.indices), copied(rows.values), rows.n_cols);
          },
          "Copies of their arrays, and the number of columns.");
  nb::class_<Progress>(m, "Progress")
      .def(nb::init<>())
      .def_prop_ro("done", [](const Progress& p) { return p.done.load(); })
      .def_prop_ro("total", [](const Progress& p) { return p.total.load(); });
  m.def("train_tree", train_tree, "The classifiers of some nodes of a tree, as the arrays of blocks.h.");
  nb::class_<TreeModel>(m, "TreeModel")
      .def(nb::init<const nb::tuple&, const nb::tuple&, int, int64_t, int64_t, bool>())
      .def("check", &TreeModel::check, "Raises unless the arrays are sound.")
      .def("block", &TreeModel::block, "The weights of a node: numbers of features, siblings and values.")
      .def("topk", &TreeModel::topk, "Ids, scores, and what was looked at.")
      .def("few_rows", &TreeModel::few_rows, "Ids and scores for `Rows`, or None if they have other features.")
      .def("one_row", &TreeModel::one_row, "Ids and scores for a single row of scipy's, or None if it needs more care.")
      .def("reached", &TreeModel::reached, "Nodes that the beam of each row reaches: leaves, and those from one on.")
      .def("seconds", &TreeModel::seconds, "Seconds that each row's search takes.")
      .def("slacks", &TreeModel::slacks, "For each row the largest slack that leaves its answers as they are.");
  bind_softmax_trees(m);
  m.def("label_places", label_places, "The leaves that the rows of each label reach, and how many rows reach each.");
  bind_eagle(m);
  m.def("mean_answers", mean_answers, "The best labels by the mean of several models' answers.");

  m.def("rank_predictions", rank_predictions_of, "Sums over rows and labels from which ranking metrics are made.");
  m.def("best_entries", best_entries_of, "Ids and scores of the k highest entries of each row of a sparse matrix.");

  m.def("count_terms", count_terms_of, "Terms as (bytes, offsets), in how many texts, how often, and the counts.");
  m.def("count_buckets", count_buckets_of, "The counts of hashed terms as CSR arrays.");
  m.def("weigh_counts", weigh_counts, "Counts, with columns renumbered or left out, as tf-idf in CSR arrays.");
  nb::class_<Vectorizer>(m, "Vectorizer")
      .def(nb::init<const nb::tuple&, const std::optional<nb::tuple>&, int32_t, const nb::tuple&>(), "analysis"_a,
           "vocabulary"_a.none(), "n_cols"_a, "weighing"_a)
      .def("transform", &Vectorizer::transform, "Texts as tf-idf in CSR arrays.")
      .def("transform_plain", &Vectorizer::transform_plain,
           "The same for a list; None unless it holds nothing but plain strings.")
      .def("rows", &Vectorizer::rows, "The same as `Rows` of a model.");
  m.def("number_strings", number_strings_of, "offsets"_a, "bytes"_a,
        "A number for each string in order of first occurrence, and where the string of each number occurs first.");
  m.def("pick_terms", pick_terms, "The chosen terms as (bytes, offsets).");
  m.def(
      "check_vocabulary", [](const nb::tuple& vocabulary) { check_contents(VocabularyArgument(vocabulary).value()); },
      "Raises unless the arrays are a sound vocabulary.");
  m.def(
      "mentions",
      [](const Array<uint8_t>& bytes, const std::string& part) {
        return as_view(bytes.data(), bytes.size()).find(part) != std::string_view::npos;
      },
      "Whether bytes contain a part.");
}
