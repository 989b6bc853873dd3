// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <rte_telemetry.h>
#include <rte_version.h>

/// Has what DPDK names differently in the versions that this tree is built with, Debian's 22.11 and 24.11.
/// Code outside this file does not ask for the version.
namespace spead::dpdk {

#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)

inline constexpr rte_tel_value_type kTelemetryUnsigned = RTE_TEL_UINT_VAL;

/// Returns 0, or a negative errno where `to` is no array of kTelemetryUnsigned, or full.
inline int add_unsigned(rte_tel_data* to, std::uint64_t value) {
    return rte_tel_data_add_array_uint(to, value);
}

/// Returns 0, or a negative errno where `to` is no dictionary, or full, or the name is refused.
inline int add_unsigned(rte_tel_data* to, const char* name, std::uint64_t value) {
    return rte_tel_data_add_dict_uint(to, name, value);
}

#else

inline constexpr rte_tel_value_type kTelemetryUnsigned = RTE_TEL_U64_VAL;

inline int add_unsigned(rte_tel_data* to, std::uint64_t value) {
    return rte_tel_data_add_array_u64(to, value);
}

inline int add_unsigned(rte_tel_data* to, const char* name, std::uint64_t value) {
    return rte_tel_data_add_dict_u64(to, name, value);
}

#endif

}  // namespace spead::dpdk
