// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <pybind11/pybind11.h>
#include <utility>

namespace spead::python {

/// Refuses objects of Python whose __init__() has not returned, as those of derived classes may be: a base of
/// classes that are bound.
///
/// pybind11 gives such an object raw memory when it is used first, with the class's own operator new. So
/// that raises; make() makes the object.
struct MadeByInit {
    static void* operator new(std::size_t /*bytes*/) {
        throw pybind11::type_error(
            "the object was not made: call __init__() of its base class before you use it");
    }
    static void operator delete(void* made) { ::operator delete(made); }
};

/// Makes an object of such a class.
template <class T, class... Arguments>
std::unique_ptr<T> make(Arguments&&... arguments) {
    return std::unique_ptr<T>(::new T(std::forward<Arguments>(arguments)...));
}

}  // namespace spead::python
