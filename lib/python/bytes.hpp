// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <pybind11/pybind11.h>
#include <span>
#include <utility>

namespace spead::python {

/// Views the bytes of a Python object in C order, and pins them (Py_buffer) as long as it lives. Made and
/// destroyed with the GIL; in between, any thread may read.
class Bytes {
  public:
    enum class Access : std::uint8_t { read, write };

    /// Throws error_already_set (BufferError, TypeError): no buffer, not contiguous, read-only, or of Python
    /// objects, whose pointers nobody else may read or write.
    explicit Bytes(const pybind11::handle& object, Access access = Access::read) {
        const int flags = access == Access::write ? PyBUF_CONTIG : PyBUF_CONTIG_RO;
        if (PyObject_GetBuffer(object.ptr(), &view_, flags | PyBUF_FORMAT) != 0) {
            if (access == Access::write)
                throw pybind11::error_already_set();
            // Arrays of dates have no format.
            PyErr_Clear();
            if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0)
                throw pybind11::error_already_set();
        }
        if (has_objects(view_.format)) {
            PyBuffer_Release(&view_);
            PyErr_SetString(PyExc_TypeError, "the buffer has Python objects; give one of numbers");
            throw pybind11::error_already_set();
        }
        held_ = true;
    }
    Bytes(Bytes&& other) noexcept : view_(other.view_), held_(std::exchange(other.held_, false)) {}
    Bytes& operator=(Bytes&&) = delete;
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    ~Bytes() {
        if (held_)
            PyBuffer_Release(&view_);
    }

    std::span<std::byte> span() const noexcept {
        return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }
    std::span<const std::uint8_t> unsigned_span() const noexcept {
        return {static_cast<const std::uint8_t*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

  private:
    /// Returns whether elements of this format are, or have, Python objects. Names of fields stand between
    /// colons.
    static bool has_objects(const char* format) noexcept {
        bool in_name = false;
        for (; format != nullptr && *format != 0; format++) {
            in_name ^= *format == ':';
            if (*format == 'O' && !in_name)
                return true;
        }
        return false;
    }

    Py_buffer view_{};
    bool held_ = false;
};

}  // namespace spead::python
