#pragma once
#include <nanobind/nanobind.h>

namespace labelwood {

// Adds to the module what trains and searches softmax trees.
void bind_softmax_trees(nanobind::module_& m);

}  // namespace labelwood
