// The field's text format for sparse rows, read and written: "l1,l2 f:v f:v …", one row a line.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "sparse.h"

namespace labelwood {

struct SparseTextFormat {
  bool labels = true;       // lines begin with labels
  bool svmlight = false;    // '#' begins a comment, blank lines are no rows, "qid:" is passed over
  int64_t n_labels = -1;    // ids must be below; -1: any
  int64_t n_features = -1;  // likewise
};

// Labels (values empty) and features of the rows. Both ascend in each row; a feature given twice is added up, a label
// given twice counts once. n_cols is one more than the largest id seen.
struct SparseRows {
  Csr labels, features;
};

// Parses whole lines in parallel. Throws LineError for the first line that cannot be read.
SparseRows parse_sparse_text(std::string_view text, const SparseTextFormat& format, int n_threads);

// Writes rows as text; shortest numbers that read back the same. `labels` may have no rows: then lines hold features
// only.
std::string format_sparse_text(const CsrView& labels, const CsrView& features, int n_threads);

}  // namespace labelwood
