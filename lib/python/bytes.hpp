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

    /// Pins an object, which errors call `what`: "chunk: `data`". Throws error_already_set: TypeError for an
    /// object without bytes, or of Python objects, whose pointers nobody else may read or write. ValueError
    /// for one that is read-only, not contiguous, or closed.
    Bytes(const pybind11::handle& object, const char* what, Access access = Access::read);
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
    /// Returns the bytes of an element.
    std::size_t element() const noexcept { return static_cast<std::size_t>(view_.itemsize); }

  private:
    Py_buffer view_{};
    bool held_ = false;
};

}  // namespace spead::python
