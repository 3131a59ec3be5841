// The Python module: errors of native code as exceptions, Ctrl-C, and every noun.
#include <nanobind/nanobind.h>

#include <exception>

#include "bind.h"
#include "error.h"
#include "parallel.h"
#include "simd/kernels.h"

namespace nb = nanobind;
using namespace labelwood;

namespace {

nb::object error_class(const char* name) { return nb::module_::import_("labelwood.errors").attr(name); }

void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const LineError& e) {
    const nb::object kind = error_class("NativeLineError");
    PyErr_SetObject(kind.ptr(), kind(e.what(), e.line).ptr());
  } catch (const Error& e) {
    PyErr_SetString(error_class("LabelwoodError").ptr(), e.what());
  }
}

void check_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

NB_MODULE(_native, m) {
  nb::register_exception_translator(translate);
  set_interrupt_check(check_signals);
  m.def("simd_level", [] { return simd::kernels().level; }, "The SIMD level chosen for this processor.");
  bind_rows(m);
  bind_files(m);
  bind_vocabulary(m);
  bind_vectorizer(m);
  bind_clusters(m);
  bind_tree_training(m);
  bind_tree_search(m);
  bind_softmax_training(m);
  bind_softmax_search(m);
  bind_centroids(m);
  bind_prototypes(m);
  bind_eagle(m);
  bind_metrics(m);
}
