// Each adds one noun to the module.
#pragma once
#include <nanobind/nanobind.h>

namespace labelwood {

void bind_centroids(nanobind::module_& m);
void bind_clusters(nanobind::module_& m);
void bind_eagle(nanobind::module_& m);
void bind_files(nanobind::module_& m);
void bind_metrics(nanobind::module_& m);
void bind_prototypes(nanobind::module_& m);
void bind_rows(nanobind::module_& m);
void bind_softmax_search(nanobind::module_& m);
void bind_softmax_training(nanobind::module_& m);
void bind_tree_search(nanobind::module_& m);
void bind_tree_training(nanobind::module_& m);
void bind_vectorizer(nanobind::module_& m);
void bind_vocabulary(nanobind::module_& m);

}  // namespace labelwood
