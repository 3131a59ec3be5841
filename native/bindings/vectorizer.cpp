// Texts to tf-idf, as Python sees it.
#include "vectorizer.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "bind.h"
#include "rows.h"
#include "texts.h"

namespace labelwood {
namespace {

using namespace nb::literals;

using Pointers = std::variant<NewArray<int32_t>, NewArray<int64_t>>;
using ScipyArrays = std::tuple<Pointers, NewArray<int32_t>, NewArray<float>>;

// As scipy keeps them: with both kinds of index of one type, the narrow one if it is wide enough.
ScipyArrays to_scipy(Csr&& m) {
  if (m.indices.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    return {to_numpy(std::move(m.indptr)), to_numpy(std::move(m.indices)), to_numpy(std::move(m.values))};
  Buffer<int32_t> indptr(m.indptr.size());
  std::copy(m.indptr.begin(), m.indptr.end(), indptr.begin());
  return {to_numpy(std::move(indptr)), to_numpy(std::move(m.indices)), to_numpy(std::move(m.values))};
}

auto to_python(CountMatrix&& m) { return arrays_of(m.indptr, m.indices, m.counts); }

auto count_terms_of(const TextsArgument& texts, const AnalysisArgument& analysis, bool with_matrix, Threads n_threads) {
  TermCounts out = without_gil([&] { return count_terms(texts.value(), analysis.value, with_matrix, n_threads); });
  return std::make_tuple(arrays_of(out.terms.bytes, out.terms.offsets), to_numpy(std::move(out.n_texts)),
                         to_numpy(std::move(out.occurrences)), to_python(std::move(out.matrix)));
}

auto count_buckets_of(const TextsArgument& texts, const AnalysisArgument& analysis, int32_t n_buckets,
                      Threads n_threads) {
  if (n_buckets < 1) throw Error("n_buckets must be at least 1");
  return to_python(without_gil([&] { return count_buckets(texts.value(), analysis.value, n_buckets, n_threads); }));
}

ScipyArrays weigh_counts(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<int32_t>& counts,
                         const Array<int32_t>& columns, int64_t n_cols, const WeighingArgument& weighing,
                         Threads n_threads) {
  weighing.check(n_cols);
  const int64_t n_counted = columns.size() == 0 ? n_cols : static_cast<int64_t>(columns.size());
  PatternArgument{indptr, indices, n_counted}.checked();
  if (indices.size() != counts.size()) throw Error("counts have another number of entries than of columns");
  for (int32_t column : view(columns))
    if (column < -1 || column >= n_cols) throw Error("a term's column is outside the matrix");
  return to_scipy(without_gil([&] {
    return weigh(view(indptr), view(indices), view(counts), view(columns), n_cols, weighing.value, n_threads);
  }));
}

// A fitted vectorizer: keeps the arrays alive, which may be mapped from a file.
class Vectorizer {
 public:
  Vectorizer(AnalysisArgument analysis, const std::optional<TermsArgument>& terms, WeighingArgument weighing,
             int32_t n_cols)
      : how_(std::move(analysis)), weights_(std::move(weighing)), n_cols_(n_cols), terms_(terms) {
    weights_.check(n_cols);
    if (!terms_ && n_cols < 1) throw Error("there must be one column at least");
    if (!terms_) return;
    if (terms_->value().size() != n_cols) throw Error("the vocabulary has another number of terms than of columns");
    index_ = without_gil([&] { return std::make_unique<TermIndex>(terms_->value()); });
  }

  ScipyArrays transform(const TextsArgument& texts, Threads n_threads) const {
    return to_scipy(rows_of(texts, n_threads));
  }

  // The same for anyone's list; none unless it holds nothing but plain strings.
  std::optional<ScipyArrays> transform_plain(nb::handle list, Threads n_threads) const {
    TextsArgument all;
    if (!all.read_plain(list, how_.value.lowercase)) return std::nullopt;
    return to_scipy(rows_of(all, n_threads));
  }

  // The same as rows of a model with n_cols features, of which the texts' are the first. They stay in native code on
  // their way to the model, so they must be sound: none where a value is not finite.
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
  std::optional<TermsArgument> terms_;
  std::unique_ptr<const TermIndex> index_;  // none: terms are hashed into columns
};

}  // namespace

void bind_vectorizer(nb::module_& m) {
  m.def("count_terms", count_terms_of, "texts"_a, "analysis"_a, "with_matrix"_a, "n_threads"_a,
        "Terms as (bytes, offsets), in how many texts, how often, and the counts.");
  m.def("count_buckets", count_buckets_of, "texts"_a, "analysis"_a, "n_buckets"_a, "n_threads"_a,
        "The counts of hashed terms as CSR arrays.");
  m.def("weigh_counts", weigh_counts, "indptr"_a, "indices"_a, "counts"_a, nb::kw_only(), "columns"_a, "n_cols"_a,
        "weighing"_a, "n_threads"_a, "Counts, with columns renumbered or left out, as tf-idf in CSR arrays.");
  nb::class_<Vectorizer>(m, "Vectorizer", "A fitted vectorizer.")
      .def(nb::init<AnalysisArgument, const std::optional<TermsArgument>&, WeighingArgument, int32_t>(), nb::kw_only(),
           "analysis"_a, "terms"_a, "weighing"_a, "n_cols"_a)
      .def("transform", &Vectorizer::transform, "texts"_a, "n_threads"_a, "Texts as tf-idf in CSR arrays.")
      .def("transform_plain", &Vectorizer::transform_plain, "texts"_a, "n_threads"_a,
           "The same for a list; None unless it holds nothing but plain strings.")
      .def("rows", &Vectorizer::rows, "texts"_a, "n_cols"_a, "The same as `Rows` of a model.");
}

}  // namespace labelwood
