// Formats of files, as Python sees their readers and writers.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "bind.h"
#include "csv_rows.h"
#include "marked_lines.h"
#include "rows.h"
#include "sparse_text.h"

namespace labelwood {
namespace {

using namespace nb::literals;

std::string_view bytes_of(const nb::bytes& text) { return {text.c_str(), text.size()}; }

auto read_sparse_text(const nb::bytes& text, bool labels, bool svmlight, int64_t n_labels, int64_t n_features,
                      Threads n_threads) {
  const std::string_view bytes = bytes_of(text);
  SparseRows rows =
      without_gil([&] { return parse_sparse_text(bytes, {labels, svmlight, n_labels, n_features}, n_threads); });
  const int64_t label_columns = rows.labels.n_cols, feature_columns = rows.features.n_cols;
  return std::make_tuple(to_numpy(std::move(rows.labels)), label_columns, to_numpy(std::move(rows.features)),
                         feature_columns);
}

nb::bytes write_sparse_text(const PatternArgument& labels, const SparseArgument& rows, Threads n_threads) {
  const CsrView Y = labels.checked(), X = rows.finite();
  if (Y.n_rows() != 0 && Y.n_rows() != X.n_rows()) throw Error("labels and features have different numbers of rows");
  const std::string text = without_gil([&] { return format_sparse_text(Y, X, n_threads); });
  return nb::bytes(text.data(), text.size());
}

size_t csv_rows_end_of(const nb::bytes& text, char delimiter) {
  const std::string_view rows = bytes_of(text);
  return without_gil([&] { return csv_rows_end(rows, delimiter); });
}

auto part_marked_lines_of(const nb::bytes& text, const nb::bytes& prefix) {
  const std::string_view lines = bytes_of(text), mark = bytes_of(prefix);
  MarkedLines m = without_gil([&] { return part_marked_lines(lines, mark); });
  return arrays_of(m.texts, m.text_offsets, m.marked, m.marked_offsets, m.line_ends);
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def("read_sparse_text", read_sparse_text, "text"_a, "labels"_a, "svmlight"_a, "n_labels"_a, "n_features"_a,
        "n_threads"_a, "Rows of the field's text format: (labels, label columns, features, feature columns).");
  m.def("write_sparse_text", write_sparse_text, "labels"_a, "rows"_a, "n_threads"_a,
        "The reverse; without label rows, lines hold features only.");
  m.def("csv_rows_end", csv_rows_end_of, "text"_a, "delimiter"_a,
        "The end of the last whole row of CSV; 0 where none ends.");
  m.def("part_marked_lines", part_marked_lines_of, "text"_a, "prefix"_a,
        "Of lines of words those without the prefix, as strings' bytes and offsets, and those with it, and ends of "
        "lines.");
}

}  // namespace labelwood
