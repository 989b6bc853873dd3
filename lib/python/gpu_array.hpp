// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <pybind11/pybind11.h>

namespace spead::python {

/// Refers to an array in memory of a GPU, and keeps it: an object with `__cuda_array_interface__` and without
/// the buffer protocol (CuPy, Numba, PyTorch). Made, copied and destroyed with the GIL.
class GpuArray {
  public:
    /// Returns the array of an object; none: it has no such interface, or its bytes can be read. Throws
    /// type_error and value_error for an interface that cannot be used: a mask, strides, a strange shape.
    static std::optional<GpuArray> of(const pybind11::handle& object);

    std::uintptr_t address() const noexcept { return address_; }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    /// Throws cast_error, too: a value has a wrong type.
    static GpuArray from_interface(const pybind11::handle& object);
    GpuArray(pybind11::object array, std::uintptr_t address, std::size_t bytes)
        : array_(std::move(array)), address_(address), bytes_(bytes) {}

    pybind11::object array_;
    std::uintptr_t address_;
    std::size_t bytes_;
};

}  // namespace spead::python
