// An index of prototypes, as Python sees it.
#include <cstdint>
#include <utility>

#include "bind.h"
#include "prototype_index.h"
#include "rows.h"

namespace labelwood {
namespace {

using namespace nb::literals;

// An index and the prototypes it looks at.
class IndexOfPrototypes {
 public:
  IndexOfPrototypes(const Matrix<float>& prototypes, const Matrix<int32_t>& clusters, const Matrix<float>& directions,
                    Threads n_threads)
      : prototypes_(prototypes),
        index_(made(dense_view(prototypes_), {view(clusters), dense_view(directions)}, n_threads)) {}

  AnswerArrays topk(const Matrix<float>& queries, int64_t k, const LimitsArgument& limits, int64_t probes,
                    const Array<int64_t>& needed, Threads n_threads) const {
    const DenseView X = dense_view(queries), W = dense_view(prototypes_);
    if (X.n_cols != W.n_cols || k < 1) throw Error("the queries have other numbers than the prototypes");
    if (std::ssize(view(needed)) != X.n_rows) throw Error("what is needed is of another number of queries");
    const CentroidOptions options{k, limits.min_score, limits.labels(W.n_rows)};
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

}  // namespace

void bind_prototypes(nb::module_& m) {
  nb::class_<IndexOfPrototypes>(m, "PrototypeIndex", "The nearest of many prototypes.")
      .def(nb::init<const Matrix<float>&, const Matrix<int32_t>&, const Matrix<float>&, Threads>(), "prototypes"_a,
           "clusters"_a, "directions"_a, "n_threads"_a)
      .def("topk", &IndexOfPrototypes::topk, "queries"_a, "k"_a, "limits"_a, nb::kw_only(), "probes"_a, "needed"_a,
           "n_threads"_a, "What dense_centroid_topk finds, in less time; or the best of some clusters.");
}

}  // namespace labelwood
