// Counts how often each number occurs in one row, and forgets the row in constant time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "hash.h"
#include "sorting.h"

namespace labelwood {

struct Count {
  uint32_t id, count;
};

inline void sort_by_id(std::span<Count> counts, std::vector<Count>& spare) {
  sort_by(counts, spare, [](Count entry) { return entry.id; });
}

class RowCounter {
 public:
  void clear() {
    counts_.clear();
    if (++row_ != 0) return;
    std::fill(slots_.begin(), slots_.end(), Slot{0, 0});  // after 2^32 rows old marks would come alive again
    row_ = 1;
  }

  void add(uint32_t id, uint32_t count = 1) {
    const size_t mask = slots_.size() - 1;
    for (size_t slot = hashing::of_id(id) & mask;; slot = (slot + 1) & mask) {
      if (slots_[slot].row != row_) {
        slots_[slot] = {row_, static_cast<uint32_t>(counts_.size())};
        counts_.push_back({id, count});
        if (2 * counts_.size() > slots_.size()) grow();
        return;
      }
      Count& entry = counts_[slots_[slot].place];
      if (entry.id == id) {
        entry.count += count;
        return;
      }
    }
  }

  // In order of first occurrence.
  std::span<Count> counts() { return counts_; }

  std::span<const Count> sorted() {
    sort_by_id(counts_, spare_);
    return counts_;
  }

  // How many taken slots look-ups of the row's numbers pass over before they find theirs.
  int64_t detours() const {
    const size_t mask = slots_.size() - 1;
    size_t sum = 0;
    for (size_t slot = 0; slot <= mask; ++slot)
      if (slots_[slot].row == row_) sum += (slot - hashing::of_id(counts_[slots_[slot].place].id)) & mask;
    return static_cast<int64_t>(sum);
  }

 private:
  struct Slot {
    uint32_t row, place;  // taken only where `row` is the current one
  };

  void grow() {
    slots_.assign(slots_.size() * 2, Slot{row_ - 1, 0});
    const size_t mask = slots_.size() - 1;
    for (uint32_t place = 0; place < counts_.size(); ++place) {
      size_t slot = hashing::of_id(counts_[place].id) & mask;
      while (slots_[slot].row == row_) slot = (slot + 1) & mask;
      slots_[slot] = {row_, place};
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(256, Slot{0, 0});
  std::vector<Count> counts_, spare_;
  uint32_t row_ = 1;
};

}  // namespace labelwood
