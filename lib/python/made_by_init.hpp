// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <pybind11/pybind11.h>

namespace spead::python {

/// Refuses objects of Python whose __init__() has not returned, of all classes that the module has: those of
/// derived classes may be such, and those of `__new__` alone are.
///
/// pybind11 gives such an object raw memory when it is used first, with the function that a class names for
/// it. So that raises. Objects that are made get their memory in other ways.
inline void refuse_objects_in_the_making(const pybind11::module_& m) {
    for (const auto& [name, value] : m.attr("__dict__").cast<pybind11::dict>()) {
        if (PyType_Check(value.ptr()) == 0)
            continue;
        auto* const type = reinterpret_cast<PyTypeObject*>(value.ptr());
        if (pybind11::detail::type_info* const bound = pybind11::detail::get_type_info(type))
            bound->operator_new = [](std::size_t /*bytes*/) -> void* {
                throw pybind11::type_error(
                    "the object was not made: call __init__() of its base class before you use it");
            };
    }
}

}  // namespace spead::python
