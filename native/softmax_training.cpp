#include "softmax_training.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "crew.h"
#include "parallel.h"
#include "random.h"
#include "simd/kernels.h"

namespace labelwood {
namespace {

constexpr float kCurvature = 0.25f;  // of the logistic loss, at most

float sigmoid(float score) { return 1 / (1 + std::exp(-score)); }

// Where a part of a batch's rows go, in the order of its rows.
struct Part {
  // A row at a node where its labels part.
  struct Visit {
    int32_t example, node;
    float total;                 // labels below the node
    uint32_t target, n_targets;  // in `targets`
  };
  struct Target {
    int32_t vector;  // −1 for the first child
    float count;
  };
  std::vector<Visit> visits;
  std::vector<Target> targets;
  std::vector<uint64_t> edges;  // of the row at hand

  void clear() { visits.clear(), targets.clear(); }
};

// Where the means of a batch's rows are to move. Sums are taken in a fixed number of groups, whoever takes them, so
// that they come out the same.
struct Directions {
  static constexpr int kGroups = 4;

  std::vector<float> sums[kGroups];   // rows × width
  std::vector<float> bends[kGroups];  // of each row: how far its step would change scores; the loss bends back beyond

  void clear(int group, size_t n_rows, int64_t width) {
    sums[group].assign(n_rows * width, 0.0f);
    bends[group].assign(n_rows, 0.0f);
  }
};

// The path of every label, and the vectors there.
class TreeOutput {
 public:
  TreeOutput(const CsrView& Y, const TreeView& tree, const SoftmaxTraining& options, float* vectors)
      : Y_(Y), tree_(tree), o_(options), first_(VectorsOfNodes(tree).first), parent_(tree.n_nodes()), leaf_(Y.n_cols),
        vectors_(vectors) {
    for (int32_t node = 0; node < tree.n_nodes(); ++node) {
      for (int32_t child = tree.child_ptr[node]; child < tree.child_ptr[node + 1]; ++child) parent_[child] = node;
      for (int32_t label : tree.labels_of(node)) leaf_[label] = node;
    }
  }

  int64_t most_rows() const { return o_.batch_rows; }

  // Of the bends of two groups.
  static float joined(float a, float b) { return std::max(a, b); }

  // Where the rows go; `draw` is what chance says of a row.
  template <class Draw>
  void plan(Part& part, std::span<const int32_t> rows, int32_t begin, int32_t end, Draw draw) const {
    part.clear();
    for (int32_t i = begin; i < end; ++i) {
      const auto labels = Y_.row(rows[i]);
      part.edges.clear();
      if (o_.targets == Targets::kAll) {
        for (int32_t label : labels) add_edges(part.edges, label);
        std::sort(part.edges.begin(), part.edges.end());
      } else {
        add_edges(part.edges, labels[draw(rows[i], labels.size())]);
      }
      add_visits(part, i);
    }
  }

  // Learns at the nodes of a group: each sees its rows one after another.
  void learn(std::span<const Part> parts, const float* means, float rate, std::span<const int32_t> rows, int group,
             Directions& directions) {
    directions.clear(group, rows.size(), o_.width);
    for (const Part& part : parts)
      for (size_t at = 0; at < part.visits.size(); ++at) {
        if (at + kVisitsAhead < part.visits.size()) prefetch(part.visits[at + kVisitsAhead].node, group);
        if (part.visits[at].node % Directions::kGroups == group)
          learn(part, part.visits[at], means, rate, rows, directions);
      }
  }

 private:
  static constexpr size_t kVisitsAhead = 6;

  void learn(const Part& part, const Part::Visit& visit, const float* means, float rate, std::span<const int32_t> rows,
             Directions& directions) {
    const auto& kernels = simd::kernels();
    const int64_t width = o_.width;
    const int group = visit.node % Directions::kGroups;
    const float* mean = means + visit.example * width;
    const float step =
        rate / (o_.targets == Targets::kAll ? static_cast<float>(Y_.row(rows[visit.example]).size()) : 1.0f);
    const float keep = std::max(0.0f, 1 - step * visit.total * o_.decay), curve = kCurvature * step * visit.total;
    const float own = 1 / (1 + curve * kernels.dot(mean, mean, width));
    const int32_t first = first_[visit.node], n = first_[visit.node + 1] - first;
    thread_local std::vector<float> pushes;
    pushes.resize(n);
    for (int32_t v = 0; v < n; ++v) pushes[v] = kernels.dot(mean, vectors_ + (first + v) * width, width);
    to_chances(pushes.data(), n);
    for (int32_t v = 0; v < n; ++v) pushes[v] *= -visit.total;
    for (uint32_t t = visit.target; t < visit.target + visit.n_targets; ++t)
      if (part.targets[t].vector >= 0) pushes[part.targets[t].vector] += part.targets[t].count;
    float& bend = directions.bends[group][visit.example];
    for (int32_t v = 0; v < n; ++v) {
      float* vector = vectors_ + (first + v) * width;
      bend = std::max(bend, curve * kernels.dot(vector, vector, width));
      kernels.exchange(keep, step * pushes[v], own, mean, vector, directions.sums[group].data() + visit.example * width,
                       width);
    }
  }

  void prefetch(int32_t node, int group) const {
    if (node % Directions::kGroups != group) return;
    const float* vector = vectors_ + first_[node] * o_.width;
    for (int64_t i = 0; i < o_.width; i += 16) __builtin_prefetch(vector + i);
  }

  void add_edges(std::vector<uint64_t>& edges, int32_t label) const {
    for (int32_t node = leaf_[label]; node != 0; node = parent_[node])
      edges.push_back(static_cast<uint64_t>(parent_[node]) << 32 | static_cast<uint32_t>(node));
  }

  // Edges of one node stand together.
  void add_visits(Part& part, int32_t example) const {
    for (size_t i = 0; i < part.edges.size();) {
      const int32_t node = static_cast<int32_t>(part.edges[i] >> 32);
      const int32_t n = first_[node + 1] - first_[node];
      Part::Visit visit{example, node, 0, static_cast<uint32_t>(part.targets.size()), 0};
      for (; i < part.edges.size() && static_cast<int32_t>(part.edges[i] >> 32) == node; ++i) {
        const int32_t vector = static_cast<int32_t>(part.edges[i] & 0xFFFFFFFFu) - tree_.child_ptr[node] - 1;
        visit.total += 1;
        if (visit.n_targets > 0 && part.targets.back().vector == vector) {
          part.targets.back().count += 1;
        } else {
          part.targets.push_back({vector, 1});
          ++visit.n_targets;
        }
      }
      if (n == 0) {  // an only child is certain
        part.targets.resize(visit.target);
        continue;
      }
      part.visits.push_back(visit);
    }
  }

  // Scores of all children but the first, whose score is zero, to their chances.
  static void to_chances(float* scores, int32_t n) {
    if (n == 1) {
      scores[0] = sigmoid(scores[0]);
      return;
    }
    const float highest = std::max(0.0f, *std::max_element(scores, scores + n));
    float sum = std::exp(-highest);
    for (int32_t v = 0; v < n; ++v) sum += scores[v] = std::exp(scores[v] - highest);
    for (int32_t v = 0; v < n; ++v) scores[v] /= sum;
  }

  const CsrView Y_;
  const TreeView tree_;
  const SoftmaxTraining& o_;
  const std::vector<int32_t> first_;
  std::vector<int32_t> parent_, leaf_;
  float* vectors_;
};

// A sigmoid for every label.
class FlatOutput {
 public:
  FlatOutput(const CsrView& Y, const SoftmaxTraining& options, float* vectors)
      : Y_(Y), o_(options), vectors_(vectors) {}

  int64_t most_rows() const { return std::clamp<int64_t>((1 << 20) / Y_.n_cols, 1, o_.batch_rows); }

  template <class Draw>
  void plan(Part&, std::span<const int32_t>, int32_t, int32_t, Draw) const {}

  // Learns the labels of a group.
  void learn(std::span<const Part>, const float* means, float rate, std::span<const int32_t> rows, int group,
             Directions& directions) {
    const auto& kernels = simd::kernels();
    directions.clear(group, rows.size(), o_.width);
    std::vector<size_t> next(rows.size());  // of each row's labels, which ascend
    for (int64_t label = group; label < Y_.n_cols; label += Directions::kGroups) {
      float* vector = vectors_ + label * o_.width;
      for (size_t i = 0; i < rows.size(); ++i) {
        const auto labels = Y_.row(rows[i]);
        while (next[i] < labels.size() && labels[next[i]] < label) ++next[i];
        const float target = next[i] < labels.size() && labels[next[i]] == label ? 1.0f : 0.0f;
        const float* mean = means + i * o_.width;
        const float curve = kCurvature * rate, own = 1 / (1 + curve * kernels.dot(mean, mean, o_.width));
        const float push = rate * (target - sigmoid(kernels.dot(mean, vector, o_.width)));
        // A row meets all labels at once, so what its step does to their scores adds up.
        directions.bends[group][i] += curve * kernels.dot(vector, vector, o_.width);
        kernels.exchange(std::max(0.0f, 1 - rate * o_.decay), push, own, mean, vector,
                         directions.sums[group].data() + i * o_.width, o_.width);
      }
    }
  }

  static float joined(float a, float b) { return a + b; }

 private:
  const CsrView Y_;
  const SoftmaxTraining& o_;
  float* vectors_;
};

// Stochastic gradient descent in small batches. A batch's rows are embedded together; then every node learns from them
// one after another; then the embeddings follow. So no thread ever waits for another's row, each number is made by the
// same operations in the same order whatever the number of threads, and only embeddings are a few rows behind.
template <class Output>
class Descent {
 public:
  Descent(const CsrView& X, const CsrView& Y, Output& output, const SoftmaxTraining& options, float* embeddings,
          Crew& crew)
      : X_(X), o_(options), output_(output), embeddings_(embeddings), crew_(crew), values_(X.values.size()) {
    for (int64_t row = 0; row < X.n_rows(); ++row) {
      const float scale = scale_of(X.row_values(row), options.scaling);
      for (int64_t i = X.indptr[row]; i < X.indptr[row + 1]; ++i) values_[i] = X.values[i] * scale;
      if (scale > 0 && !Y.row(row).empty()) all_.push_back(static_cast<int32_t>(row));
    }
    for (Batch& batch : batches_) batch.parts.resize(crew.size());
  }

  void run(Progress& progress) {
    progress.total = int64_t{o_.epochs} * kParts;
    for (epoch_ = 0; epoch_ < o_.epochs; ++epoch_) {
      draw_rows();
      for (int64_t begin = 0; begin < std::ssize(rows_);) {
        const double share = (epoch_ + static_cast<double>(begin) / static_cast<double>(rows_.size())) / o_.epochs;
        const int64_t end = end_of_batch(begin);
        take_step(begin, end, static_cast<float>(1 - share));
        progress.done = static_cast<int64_t>(share * static_cast<double>(progress.total));
        poll_interrupt();
        begin = end;
      }
      finish();  // rows change places for the next epoch
    }
  }

 private:
  static constexpr int64_t kParts = 1000;  // of an epoch, as progress is shown

  struct Batch {
    std::vector<int32_t> rows;
    std::vector<Part> parts;
    Directions directions;
  };

  // The rows of an epoch in random order: each as often as it weighs, the fraction by chance.
  void draw_rows() {
    Random random(o_.seed, epoch_);
    rows_.clear();
    for (int32_t row : all_) {
      const double weight = o_.row_weights.empty() ? 1 : o_.row_weights[row];
      const double times = std::floor(weight) + (random.below(1 << 20) < (weight - std::floor(weight)) * (1 << 20));
      rows_.insert(rows_.end(), static_cast<size_t>(times), row);
    }
    for (size_t i = rows_.size(); i > 1; --i) std::swap(rows_[i - 1], rows_[random.below(i)]);
  }

  int64_t end_of_batch(int64_t begin) const {
    const int64_t most = std::min<int64_t>(std::ssize(rows_), begin + output_.most_rows());
    int64_t end = begin + 1;
    for (int64_t entries = n_features(begin); end < most; ++end)
      if ((entries += n_features(end)) > o_.batch_entries) break;
    return end;
  }
  int64_t n_features(int64_t example) const { return X_.indptr[rows_[example] + 1] - X_.indptr[rows_[example]]; }

  // Columns of the matrices are independent but for the scores, so while one thread follows the last batch and embeds
  // the next in its columns, another can do so in others.
  void take_step(int64_t begin, int64_t end, float rate) {
    Batch& last = batches_[at_];
    Batch& next = batches_[at_ ^= 1];
    next.rows.assign(rows_.begin() + begin, rows_.begin() + end);
    means_.assign((end - begin) * o_.width, 0.0f);
    const int n_slices = this->n_slices(), n_parts = crew_.size();
    crew_.each(n_slices + n_parts, [&](int task) {
      if (task >= n_slices) return plan(next, task - n_slices, n_parts);
      follow(last, task);
      embed(next, task);
    });
    crew_.each(Directions::kGroups, [&](int group) {
      output_.learn(next.parts, means_.data(), o_.learning_rate * rate, next.rows, group, next.directions);
    });
  }

  void finish() {
    Batch& last = batches_[at_];
    crew_.each(n_slices(), [&](int task) { follow(last, task); });
    last.rows.clear();
  }

  // Columns go to threads in eights.
  int n_slices() const { return static_cast<int>(std::min<int64_t>(crew_.size(), o_.width / 8)); }
  int64_t first_column(int slice) const { return o_.width / 8 * slice / n_slices() * 8; }

  void plan(Batch& batch, int number, int n_parts) {
    const int64_t n = std::ssize(batch.rows);
    const auto draw = [&](int32_t row, size_t n_labels) {
      return Random(o_.seed, (uint64_t{1} << 63) + epoch_ * X_.n_rows() + row).below(n_labels);
    };
    output_.plan(batch.parts[number], batch.rows, static_cast<int32_t>(n * number / n_parts),
                 static_cast<int32_t>(n * (number + 1) / n_parts), draw);
  }

  void embed(const Batch& batch, int slice) {
    const int64_t begin = first_column(slice), end = first_column(slice + 1);
    for (size_t i = 0; i < batch.rows.size(); ++i)
      simd::kernels().gather_rows(columns_of(batch.rows[i], begin, end), values_of(batch.rows[i]),
                                  means_.data() + i * o_.width + begin);
  }

  void follow(const Batch& batch, int slice) {
    const int64_t begin = first_column(slice), end = first_column(slice + 1);
    std::vector<float> direction;
    for (size_t i = 0; i < batch.rows.size(); ++i) {
      direction.assign(end - begin, 0.0f);
      float bend = 0;
      for (int group = 0; group < Directions::kGroups; ++group)
        bend = Output::joined(bend, batch.directions.bends[group][i]);
      for (const auto& sums : batch.directions.sums)
        simd::kernels().add_scaled(1 / (1 + bend), sums.data() + i * o_.width + begin, direction.data(), end - begin);
      simd::kernels().scatter_rows(columns_of(batch.rows[i], begin, end), values_of(batch.rows[i]), direction.data());
    }
  }

  const float* values_of(int32_t row) const { return values_.data() + X_.indptr[row]; }

  simd::RowsOfMatrix columns_of(int32_t row, int64_t begin, int64_t end) const {
    const auto features = X_.row(row);
    return {embeddings_ + begin, static_cast<size_t>(o_.width), static_cast<size_t>(end - begin), features.data(),
            features.size()};
  }

  const CsrView X_;
  const SoftmaxTraining& o_;
  Output& output_;
  float* embeddings_;
  Crew& crew_;
  Buffer<float> values_;       // of X, as embeddings take them
  std::vector<int32_t> all_;   // rows to learn from
  std::vector<int32_t> rows_;  // of the epoch, in its order
  Batch batches_[2];
  int at_ = 0;
  int epoch_ = 0;
  std::vector<float> means_;
};

template <class Output>
void descend(const CsrView& X, const CsrView& Y, Output& output, const SoftmaxTraining& options, float* embeddings,
             int n_threads, Progress& progress) {
  Crew::with(n_threads, [&](Crew& crew) { Descent<Output>(X, Y, output, options, embeddings, crew).run(progress); });
}

}  // namespace

VectorsOfNodes::VectorsOfNodes(const TreeView& tree) : first(tree.n_nodes() + 1) {
  for (int32_t node = 0; node < tree.n_nodes(); ++node)
    first[node + 1] = first[node] + std::max(0, tree.n_children(node) - 1);
}

void train_softmax_tree(const CsrView& X, const CsrView& Y, const TreeView& tree, const SoftmaxTraining& options,
                        float* embeddings, float* vectors, int n_threads, Progress& progress) {
  TreeOutput output(Y, tree, options, vectors);
  descend(X, Y, output, options, embeddings, n_threads, progress);
}

void train_one_vs_rest(const CsrView& X, const CsrView& Y, const SoftmaxTraining& options, float* embeddings,
                       float* vectors, int n_threads, Progress& progress) {
  FlatOutput output(Y, options, vectors);
  descend(X, Y, output, options, embeddings, n_threads, progress);
}

}  // namespace labelwood
