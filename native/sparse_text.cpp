#include "sparse_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "error.h"
#include "parallel.h"

namespace labelwood {
namespace {

constexpr int64_t kChunkBytes = 1 << 18;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A word of the line for an error message, cut to a readable length.
std::string quoted(const char* p, const char* end) {
  const char* stop = std::find_if(p, end, is_blank);
  std::string word(p, std::min<size_t>(stop - p, 40));
  for (char& c : word)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return "'" + word + (stop - p > 40 ? "…'" : "'");
}

// A number with at most 15 digits and no exponent is one exact division of doubles; anything else goes the slow way.
bool parse_value(const char*& p, const char* end, float& out) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* start = p;
  const char* q = p;
  const bool negative = q < end && *q == '-';
  if (q < end && (*q == '-' || *q == '+')) ++q;
  const char* number = q;
  uint64_t mantissa = 0;
  int digits = 0, decimals = 0;
  for (; q < end && is_digit(*q); ++q, ++digits) mantissa = mantissa * 10 + (*q - '0');
  if (q < end && *q == '.')
    for (++q; q < end && is_digit(*q); ++q, ++digits, ++decimals) mantissa = mantissa * 10 + (*q - '0');
  double value;
  if (digits > 0 && digits <= 15 && decimals <= 22 && (q == end || (*q != 'e' && *q != 'E'))) {
    value = static_cast<double>(mantissa) / kPowers[decimals];
    p = q;
  } else {
    const auto [rest, error] = std::from_chars(number, end, value);
    if (error == std::errc::invalid_argument || *number == '-') return false;
    // Out of range leaves `value` as it was; strtod tells the number too small, which is zero, from the one too large.
    if (error == std::errc::result_out_of_range) value = std::strtod(std::string(number, rest).c_str(), nullptr);
    p = rest;
  }
  out = static_cast<float>(negative ? -value : value);
  return p > start;
}

// Rows found in one chunk of the text.
struct Rows {
  std::vector<int64_t> label_ends, feature_ends;
  std::vector<int32_t> labels, features;
  std::vector<float> values;
  int64_t n_labels = 0, n_features = 0;
  std::optional<std::pair<const char*, std::string>> error;  // where and what
};

class LineParser {
 public:
  LineParser(const SparseTextFormat& format, Rows& rows) : format_(format), rows_(rows) {}

  // Appends the line's row; throws std::string with what is wrong.
  void parse(const char* p, const char* end) {
    if (format_.svmlight) {
      end = std::find(p, end, '#');
      if (std::all_of(p, end, is_blank)) return;
    }
    while (end > p && is_blank(end[-1])) --end;
    if (format_.labels) p = parse_labels(p, end);
    for (p = skip(p, end); p < end; p = skip(p, end)) parse_feature(p, end);
    finish_row();
  }

 private:
  static const char* skip(const char* p, const char* end) {
    while (p < end && is_blank(*p)) ++p;
    return p;
  }

  // A line that begins with a blank, or with a feature:value pair, has no labels.
  const char* parse_labels(const char* p, const char* end) {
    if (p == end || is_blank(*p)) return p;
    const char* stop = std::find_if(p, end, [](char c) { return is_blank(c) || c == ':'; });
    if (stop < end && *stop == ':') return p;
    while (true) {
      rows_.labels.push_back(parse_label(p, stop));
      if (p == stop) return p;
      ++p;  // the comma
    }
  }

  int32_t parse_label(const char*& p, const char* end) {
    const char* start = p;
    if (format_.svmlight && end - p > 1 && p[0] == '+' && is_digit(p[1])) ++p;
    int64_t id = 0;
    const auto [rest, error] = std::from_chars(p, end, id);
    p = rest;
    if (format_.svmlight && p + 1 < end && p[0] == '.' &&
        std::all_of(p + 1, std::find(p, end, ','), [](char c) { return c == '0'; }))
      p = std::find(p, end, ',');
    if (error != std::errc() || (p < end && *p != ','))
      throw "the label " + quoted(start, end) + " is not a whole number; write labels as 3,17,25";
    check_id("label", id, format_.n_labels);
    rows_.n_labels = std::max(rows_.n_labels, id + 1);
    return static_cast<int32_t>(id);
  }

  void parse_feature(const char*& p, const char* end) {
    const char* start = p;
    if (format_.svmlight && end - p > 4 && std::memcmp(p, "qid:", 4) == 0) {
      p = std::find_if(p, end, is_blank);
      return;
    }
    int64_t id = 0;
    const auto [rest, error] = std::from_chars(p, end, id);
    if (error != std::errc() || rest == end || *rest != ':')
      throw quoted(start, end) + " is not a feature:value pair; write it as 12:0.5";
    check_id("feature", id, format_.n_features);
    p = rest + 1;
    float value;
    if (!parse_value(p, end, value) || (p < end && !is_blank(*p)))
      throw "the value in " + quoted(start, end) + " is not a number; write it as 12:0.5";
    if (!std::isfinite(value))
      throw "the value in " + quoted(start, end) + " is not a finite 32-bit number; remove the pair or give a number";
    rows_.features.push_back(static_cast<int32_t>(id));
    rows_.values.push_back(value);
    rows_.n_features = std::max(rows_.n_features, id + 1);
  }

  static void check_id(const char* what, int64_t id, int64_t limit) {
    if (id >= 0 && id < std::numeric_limits<int32_t>::max() && (limit < 0 || id < limit)) return;
    const std::string name = std::string(what) + " " + std::to_string(id);
    if (id < 0) throw name + " is negative; ids count from 0";
    if (limit == 0) throw name + " is out of range: there are no " + what + "s; mend the id or the count";
    if (limit > 0 && id >= limit)
      throw name + " is out of range: ids run from 0 to " + std::to_string(limit - 1) + "; mend the id or the count";
    throw name + " is too large; ids are at most 2147483646";
  }

  void finish_row() {
    const size_t first_label = rows_.label_ends.empty() ? 0 : rows_.label_ends.back();
    const auto labels = rows_.labels.begin() + first_label;
    if (!std::is_sorted(labels, rows_.labels.end(), std::less_equal<>())) {
      std::sort(labels, rows_.labels.end());
      rows_.labels.erase(std::unique(labels, rows_.labels.end()), rows_.labels.end());
    }
    rows_.label_ends.push_back(rows_.labels.size());
    const size_t first = rows_.feature_ends.empty() ? 0 : rows_.feature_ends.back();
    if (!std::is_sorted(rows_.features.begin() + first, rows_.features.end(), std::less_equal<>()))
      order_features(first);
    rows_.feature_ends.push_back(rows_.features.size());
  }

  void order_features(size_t first) {
    std::vector<std::pair<int32_t, float>> pairs;
    for (size_t i = first; i < rows_.features.size(); ++i) pairs.emplace_back(rows_.features[i], rows_.values[i]);
    std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    rows_.features.resize(first);
    rows_.values.resize(first);
    for (const auto& [id, value] : pairs) {
      if (rows_.features.size() > first && rows_.features.back() == id) {
        rows_.values.back() += value;
        if (!std::isfinite(rows_.values.back()))
          throw "feature " + std::to_string(id) +
              " is given several times and adds up to no finite 32-bit number; remove one";
      } else {
        rows_.features.push_back(id);
        rows_.values.push_back(value);
      }
    }
  }

  const SparseTextFormat& format_;
  Rows& rows_;
};

// Parses the lines that begin in [begin, end) of the text.
Rows parse_chunk(std::string_view text, int64_t begin, int64_t end, const SparseTextFormat& format) {
  Rows rows;
  rows.features.reserve((end - begin) / 10);
  rows.values.reserve((end - begin) / 10);
  const char* const text_end = text.data() + text.size();
  const char* p = text.data() + begin;
  // A line that began earlier is another chunk's; looking no further than this one keeps a huge line linear.
  const char* const chunk_end = text.data() + end;
  if (begin > 0 && p[-1] != '\n') p = std::find(p, chunk_end, '\n') + 1;
  LineParser parser(format, rows);
  while (p < chunk_end) {
    const char* newline = static_cast<const char*>(std::memchr(p, '\n', text_end - p));
    const char* line_end = newline == nullptr ? text_end : newline;
    try {
      parser.parse(p, line_end);
    } catch (const std::string& what) {
      rows.error.emplace(p, what);
      return rows;
    }
    p = line_end + 1;
  }
  return rows;
}

// Puts the chunks' rows one after the other, freeing each chunk once it is copied.
template <class Ends, class Ids>
void concatenate(std::vector<Rows>& chunks, Ends ends, Ids ids, bool with_values, Csr& out) {
  size_t n_rows = 0, n_entries = 0;
  for (Rows& chunk : chunks) n_rows += ends(chunk).size(), n_entries += ids(chunk).size();
  out.indptr = Buffer<int64_t>(n_rows + 1);
  out.indices = Buffer<int32_t>(n_entries);
  if (with_values) out.values = Buffer<float>(n_entries);
  out.indptr[0] = 0;
  size_t row = 0, entry = 0;
  for (Rows& chunk : chunks) {
    for (int64_t e : ends(chunk)) out.indptr[++row] = static_cast<int64_t>(entry) + e;
    std::copy(ids(chunk).begin(), ids(chunk).end(), out.indices.begin() + entry);
    if (with_values) std::copy(chunk.values.begin(), chunk.values.end(), out.values.begin() + entry);
    entry += ids(chunk).size();
    std::remove_reference_t<decltype(ids(chunk))>().swap(ids(chunk));
    if (with_values) std::vector<float>().swap(chunk.values);
  }
}

void append(std::string& out, auto number) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

SparseRows parse_sparse_text(std::string_view text, const SparseTextFormat& format, int n_threads) {
  const int64_t size = static_cast<int64_t>(text.size());
  std::vector<Rows> chunks((size + kChunkBytes - 1) / kChunkBytes);
  parallel_for(size, kChunkBytes, n_threads, [&](int64_t begin, int64_t end, int) {
    chunks[begin / kChunkBytes] = parse_chunk(text, begin, end, format);
  });
  SparseRows out;
  for (const Rows& chunk : chunks) {
    if (chunk.error) throw LineError(std::count(text.data(), chunk.error->first, '\n'), chunk.error->second);
    out.labels.n_cols = std::max(out.labels.n_cols, chunk.n_labels);
    out.features.n_cols = std::max(out.features.n_cols, chunk.n_features);
  }
  concatenate(
      chunks, [](Rows& r) -> auto& { return r.label_ends; }, [](Rows& r) -> auto& { return r.labels; }, false,
      out.labels);
  concatenate(
      chunks, [](Rows& r) -> auto& { return r.feature_ends; }, [](Rows& r) -> auto& { return r.features; }, true,
      out.features);
  return out;
}

std::string format_sparse_text(const CsrView& labels, const CsrView& features, int n_threads) {
  constexpr int64_t kRows = 1024;
  const int64_t n_rows = features.n_rows();
  std::vector<std::string> pieces((n_rows + kRows - 1) / kRows);
  parallel_for(n_rows, kRows, n_threads, [&](int64_t begin, int64_t end, int) {
    std::string& out = pieces[begin / kRows];
    for (int64_t i = begin; i < end; ++i) {
      const char* separator = "";
      if (labels.n_rows() > 0) {
        for (int32_t label : labels.row(i)) append(out.append(separator), label), separator = ",";
        separator = " ";
      }
      const auto ids = features.row(i);
      const auto values = features.row_values(i);
      for (size_t j = 0; j < ids.size(); ++j) {
        append(out.append(separator), ids[j]);
        append(out.append(":"), values[j]);
        separator = " ";
      }
      out += '\n';
    }
  });
  std::string all;
  size_t total = 0;
  for (const std::string& piece : pieces) total += piece.size();
  all.reserve(total);
  for (const std::string& piece : pieces) all += piece;
  return all;
}

}  // namespace labelwood
