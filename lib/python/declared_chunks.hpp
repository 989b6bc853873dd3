// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

namespace spead::python {

/// Defines placements, and streams whose heaps they place.
void define_declared_chunks(pybind11::module_& m);

}  // namespace spead::python
