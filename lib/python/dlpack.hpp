// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <pybind11/pybind11.h>
#include <vector>

namespace spead::python {

/// Describes an array for DLPack (https://dmlc.github.io/dlpack), in the codes of that interface.
struct DlpackArray {
    std::uintptr_t address = 0;    ///< of its first element, as the device has it
    std::int32_t device_type = 1;  ///< 1: the CPU's memory; 3: the CPU's, pinned for GPUs
    std::int32_t device_id = 0;
    std::uint8_t type_code = 1;  ///< 0: int, 1: uint, 2: float, 5: complex, 6: bool
    std::uint8_t type_bits = 8;  ///< of an element
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;  ///< in elements, as many as `shape`
};

/// Returns a capsule that another library makes an array of, once. `owner` lives as long as the capsule, or
/// that array, which any thread may free.
pybind11::capsule dlpack_capsule(DlpackArray array, pybind11::object owner);

}  // namespace spead::python
