// Trees of labels by clustering, and copies of labels, as Python sees them.
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "bind.h"
#include "clustering.h"
#include "label_tree.h"
#include "overlap.h"
#include "rows.h"

namespace labelwood {
namespace {

using namespace nb::literals;

// Vectors to cluster are about as long as one: products of longer ones may be too large to have an order.
CsrView checked(const SparseArgument& rows) {
  const CsrView vectors = rows.finite();
  float largest = 0;
  for (float v : vectors.values) largest = std::max(largest, std::abs(v));
  if (largest > 1e6f) throw Error("the vectors are too long: bring them to unit length");
  return vectors;
}

void check(const ClusterOptions& options, const CsrView& vectors) {
  if (options.arity < 2 || options.max_leaf < 1 || options.min_size < 1 || vectors.n_rows() < 1)
    throw Error("a tree needs labels, arity 2 or more, max_leaf 1 or more and min_size 1 or more");
}

void check(const LabelWeights& weights, const Interpolation& how, const CsrView& vectors) {
  for (const auto& each : {weights.frequency, weights.covering}) {
    if (std::ssize(each) != vectors.n_rows()) throw Error("every label needs its frequency");
    for (double weight : each)
      if (!(weight >= 0 && weight <= 1e100)) throw Error("a label's frequency is not a number of at least 0");
  }
  if (!(how.lam >= 0 && how.lam <= 2 && how.smoothing >= 0 && how.smoothing <= 1e100))
    throw Error("lam must be from 0 to 2, and smoothing at least 0");
}

// By the names of LabelTree's fields.
Named to_python(Tree&& tree) {
  nb::dict arrays;
  arrays["child_ptr"] = to_numpy(std::move(tree.child_ptr));
  arrays["label_ptr"] = to_numpy(std::move(tree.label_ptr));
  arrays["labels"] = to_numpy(std::move(tree.labels));
  return nb::borrow<Named>(arrays);
}

Named balanced(const SparseArgument& rows, int arity, int max_leaf, uint64_t seed, Threads n_threads) {
  const CsrView vectors = checked(rows);
  const ClusterOptions options{.arity = arity, .max_leaf = max_leaf, .seed = seed};
  check(options, vectors);
  return to_python(without_gil([&] { return balanced_tree(vectors, options, n_threads); }));
}

Named interpolated(const SparseArgument& rows, const Array<double>& frequency, const Array<double>& covering,
                   double lam, double smoothing, bool midpoint, int arity, int max_leaf, uint64_t seed,
                   Threads n_threads) {
  const CsrView vectors = checked(rows);
  const LabelWeights weights{view(frequency), view(covering)};
  const Interpolation how{lam, smoothing, midpoint};
  const ClusterOptions options{.arity = arity, .max_leaf = max_leaf, .seed = seed};
  check(options, vectors);
  check(weights, how, vectors);
  return to_python(without_gil([&] { return interpolated_tree(vectors, weights, how, options, n_threads); }));
}

Named kmeans(const SparseArgument& rows, int arity, int max_leaf, int min_size, int max_depth, uint64_t seed,
             Threads n_threads) {
  const CsrView vectors = checked(rows);
  // Rounds cost more than in halving, and the last of them move few labels.
  const ClusterOptions options{.arity = arity,
                               .max_leaf = max_leaf,
                               .min_size = min_size,
                               .max_depth = max_depth,
                               .tolerance = 3e-4f,
                               .seed = seed};
  check(options, vectors);
  return to_python(without_gil([&] { return kmeans_tree(vectors, options, n_threads); }));
}

void check_room(std::span<const int64_t> room, const CsrView& own) {
  if (std::ssize(room) != own.n_cols) throw Error("there is not a limit for each leaf");
  for (int64_t limit : room)
    if (limit < 0 || limit > std::numeric_limits<int32_t>::max()) throw Error("a leaf's limit is out of range");
  if (std::accumulate(room.begin(), room.end(), int64_t{0}) < own.n_rows())
    throw Error("the leaves have no room for all labels");
}

// The leaves of each label: counted, most rows first, up to `copies` of them; or where leaves have limits, fitted.
auto label_places(const PatternArgument& members, const PatternArgument& reached, const PatternArgument& own,
                  int64_t copies, const Array<int64_t>& room, Threads n_threads) {
  const CsrView rows_of = members.checked(), leaves_of = reached.checked(), places = own.checked();
  if (rows_of.n_cols != leaves_of.n_rows() || places.n_cols != leaves_of.n_cols)
    throw Error("the labels' rows or leaves do not match those that are reached");
  if (places.n_rows() != rows_of.n_rows()) throw Error("there are not leaves for each label");
  const auto limits = view(room);
  if (!limits.empty()) check_room(limits, places);
  Places found = without_gil([&] {
    if (limits.empty()) return counted(rows_of, leaves_of, places, copies, n_threads);
    return fitted(counted(rows_of, leaves_of, places, 0, n_threads), places, copies, limits);
  });
  return arrays_of(found.label_ptr, found.leaves, found.counts);
}

}  // namespace

void bind_clusters(nb::module_& m) {
  m.def("balanced_tree", balanced, "vectors"_a, nb::kw_only(), "arity"_a, "max_leaf"_a, "seed"_a, "n_threads"_a,
        "A label tree by balanced spherical 2-means: the arrays of a `LabelTree` by name.");
  m.def("interpolated_tree", interpolated, "vectors"_a, nb::kw_only(), "frequency"_a, "covering"_a, "lam"_a,
        "smoothing"_a, "midpoint"_a, "arity"_a, "max_leaf"_a, "seed"_a, "n_threads"_a,
        "The same by halves between likeness and frequency.");
  m.def("kmeans_tree", kmeans, "vectors"_a, nb::kw_only(), "arity"_a, "max_leaf"_a, "min_size"_a, "max_depth"_a,
        "seed"_a, "n_threads"_a, "The same by spherical k-means with clusters of any size.");
  m.def("label_places", label_places, nb::kw_only(), "members"_a, "reached"_a, "own"_a, "copies"_a, "room"_a,
        "n_threads"_a, "The leaves that the rows of each label reach, and how many rows reach each.");
}

}  // namespace labelwood
