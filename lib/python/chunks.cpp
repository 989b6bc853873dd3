// SPDX-License-Identifier: BSD-3-Clause
#include "python/parts.hpp"

namespace spead::python {

void define_chunks(pybind11::module_& /*m*/) {}

}  // namespace spead::python
