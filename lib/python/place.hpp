// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>
#include <spead/place_callback.hpp>

namespace spead::python {

/// Returns the place callback of a tuple whose first element is a capsule, as scipy.LowLevelCallable is. Its
/// function is compiled code; the tuple keeps it. Throws TypeError (no tuple, no capsule), IndexError (an
/// empty one) and ValueError (another signature).
PlaceCallback parse_place(const pybind11::object& place);

}  // namespace spead::python
