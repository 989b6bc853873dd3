// SPDX-License-Identifier: BSD-3-Clause
#include "python/bytes.hpp"

#include <string>

/// Takes buffers of Python objects, or says why they cannot be taken.
namespace spead::python {

namespace py = pybind11;

namespace {

/// Returns whether elements of this format are, or have, Python objects. Names of fields stand between
/// colons.
bool has_objects(const char* format) noexcept {
    bool in_name = false;
    for (; format != nullptr && *format != 0; format++) {
        in_name ^= *format == ':';
        if (*format == 'O' && !in_name)
            return true;
    }
    return false;
}

/// Does the same for an object whose elements have no format, such as dates of numpy.
bool is_of_objects(const py::handle& object) {
    return py::hasattr(object, "dtype") &&
           py::getattr(object.attr("dtype"), "hasobject", py::bool_(false)).cast<bool>();
}

const char* advice(Bytes::Access access) {
    return access == Bytes::Access::write
               ? "give an array of numpy that can be written, as np.zeros(4096, np.uint8)"
               : "give an array of numpy, or bytes";
}

/// Says what is wrong with an object that gives no such buffer: replaces the present error.
[[noreturn]] void refuse(const py::handle& object, const std::string& what, Bytes::Access access) {
    const py::error_already_set why;
    const std::string type = Py_TYPE(object.ptr())->tp_name;
    if (PyObject_CheckBuffer(object.ptr()) == 0)
        throw py::type_error(what + " is of type " + type + ", which has no bytes; " + advice(access));
    Py_buffer view{};
    if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        // Types that have no format tell the rest.
        if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_STRIDED_RO) != 0) {
            PyErr_Clear();
            throw py::value_error(what + " of type " + type + " gives no bytes (" +
                                  py::str(why.value()).cast<std::string>() + "); " + advice(access));
        }
    }
    const std::string size = std::to_string(view.len);
    const bool is_contiguous = PyBuffer_IsContiguous(&view, 'C') != 0;
    const bool is_read_only = view.readonly != 0;
    PyBuffer_Release(&view);
    if (access == Bytes::Access::write && is_read_only)
        throw py::value_error(what + " of " + size + " bytes is read-only; " + advice(access));
    if (!is_contiguous)
        throw py::value_error(what + " of " + size + " bytes is not contiguous in C order; give " +
                              (access == Bytes::Access::write
                                   ? "an array that is, as np.zeros(4096, np.uint8)"
                                   : "np.ascontiguousarray() of it"));
    throw py::value_error(what + " of " + size + " bytes cannot be taken (" +
                          py::str(why.value()).cast<std::string>() + "); " + advice(access));
}

}  // namespace

Bytes::Bytes(const py::handle& object, const char* what, Access access) {
    const int flags = access == Access::write ? PyBUF_CONTIG : PyBUF_CONTIG_RO;
    if (PyObject_GetBuffer(object.ptr(), &view_, flags | PyBUF_FORMAT) != 0) {
        PyErr_Clear();
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0)
            refuse(object, what, access);
    }
    held_ = true;
    bool objects = has_objects(view_.format);
    try {
        objects = objects || (view_.format == nullptr && is_of_objects(object));
        if (objects)
            throw py::type_error(std::string(what) + " has Python objects, which nobody else may touch; " +
                                 advice(access));
    } catch (...) {
        PyBuffer_Release(&view_);
        throw;
    }
}

}  // namespace spead::python
