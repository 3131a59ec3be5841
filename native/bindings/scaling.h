// What Python calls the ways to weigh a row's features.
#pragma once
#include "sparse.h"
#include "structures.h"

template <>
struct nanobind::detail::type_caster<labelwood::Scaling>
    : nanobind::detail::literal_caster<labelwood::Scaling, "mean", "unit"> {};
