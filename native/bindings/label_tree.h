// A label tree and the blocks of its classifiers, as Python has them.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "arrays.h"
#include "blocks.h"
#include "structures.h"
#include "tree.h"

template <>
struct nanobind::detail::type_caster<labelwood::simd::Precision>
    : nanobind::detail::literal_caster<labelwood::simd::Precision, "float32", "float16", "int8"> {};

namespace labelwood {

// The arrays are kept alive next to the view of them. They are not converted, so that a model's may be mapped.
struct TreeArgument {
  static constexpr auto kPython = nb::detail::const_name("LabelTree");

  Array<int32_t> child_ptr;
  Array<int64_t> label_ptr;
  Array<int32_t> labels;

  void read(const Fields& from) {
    from.read("child_ptr"_f, child_ptr);
    from.read("label_ptr"_f, label_ptr);
    from.read("labels"_f, labels);
  }

  TreeView value() const { return {view(child_ptr), view(label_ptr), view(labels)}; }
  // The same, once it is known to be sound.
  TreeView checked(int64_t n_labels) const {
    check_tree(value(), n_labels);
    return value();
  }
};

// Calls with the name and the array of each part of blocks, whether these are views or own their arrays.
template <class Arrays, class Visit>
void each_array(Arrays& blocks, const Visit& visit) {
  visit("sibling_ptr"_f, blocks.sibling_ptr);
  visit("segment_ptr"_f, blocks.segment_ptr);
  visit("top_bits"_f, blocks.top_bits);
  visit("top_ranks"_f, blocks.top_ranks);
  visit("word_ptr"_f, blocks.word_ptr);
  visit("word_bits"_f, blocks.word_bits);
  visit("word_ranks"_f, blocks.word_ranks);
  visit("row_ptr"_f, blocks.row_ptr);
  visit("row_starts"_f, blocks.row_starts);
  visit("byte_ptr"_f, blocks.byte_ptr);
  visit("bytes"_f, blocks.bytes);
  visit("biases"_f, blocks.biases);
  visit("scales"_f, blocks.scales);
}

struct BlocksArgument {
  static constexpr auto kPython = nb::detail::const_name("Blocks");

  BlocksView value;

  void read(const Fields& from) {
    each_array(value, [&]<class Name, class T>(Name name, std::span<const T>& part) {
      Array<T> array;
      from.read(name, array);
      part = view(array);
      kept_.push_back(std::make_shared<Array<T>>(array));
    });
  }

 private:
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace labelwood
