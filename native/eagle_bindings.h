#pragma once
#include <nanobind/nanobind.h>

namespace labelwood {

// Adds to the module what learns from the labels of groups.
void bind_eagle(nanobind::module_& m);

}  // namespace labelwood
