// Picks the k best of many (score, id) pairs.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace labelwood {

template <class Score>
struct Scored {
  Score score;
  int32_t id;
};

// The order of every answer: score descending, equal scores by ascending id.
template <class Score>
bool better(const Scored<Score>& a, const Scored<Score>& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

// Keeps the k best pairs offered so far, whatever the order of the offers. A NaN is never among them.
// One selector serves many rows: sorted() ends a row, clear() begins the next without a new allocation.
template <class Score>
class TopK {
 public:
  using Pair = Scored<Score>;

  explicit TopK(size_t k) : k_(k) {}

  void clear() { heap_.clear(); }
  size_t size() const { return heap_.size(); }
  bool full() const { return heap_.size() == k_; }

  // The pair that the next one has to beat; only while size() > 0.
  const Pair& worst() const { return heap_.front(); }

  // Whether offer() would keep this pair.
  bool takes(Score score, int32_t id) const {
    if (score != score || k_ == 0) return false;
    return !full() || better(Pair{score, id}, worst());
  }

  // Returns whether the pair was kept.
  bool offer(Score score, int32_t id) {
    if (!takes(score, id)) return false;
    if (full()) {
      std::pop_heap(heap_.begin(), heap_.end(), better<Score>);
      heap_.back() = {score, id};
    } else {
      heap_.push_back({score, id});
    }
    std::push_heap(heap_.begin(), heap_.end(), better<Score>);
    return true;
  }

  // The same where an id may be offered several times: the best of its scores counts.
  bool offer_again(Score score, int32_t id) {
    const auto known = std::find_if(heap_.begin(), heap_.end(), [id](const Pair& pair) { return pair.id == id; });
    if (known == heap_.end()) return offer(score, id);
    if (!(score > known->score)) return false;
    known->score = score;
    std::make_heap(heap_.begin(), heap_.end(), better<Score>);
    return true;
  }

  // Best first. The heap is used up: call clear() before the next offer.
  std::span<const Pair> sorted() {
    std::sort_heap(heap_.begin(), heap_.end(), better<Score>);
    return heap_;
  }

 private:
  size_t k_;
  std::vector<Pair> heap_;  // the worst pair in front
};

}  // namespace labelwood
