// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <rte_telemetry.h>
#include <rte_version.h>

/// Has what differs between the versions of DPDK that this tree is built with, Debian's 22.11 and 24.11:
/// names, and the behaviour of a PMD. Code outside this file does not ask for the version.
namespace spead::dpdk {

/// Returns the version that runs, as RTE_VERSION_NUM has it. PMDs are plug-ins: an update of DPDK changes
/// them under a program that was built before.
inline std::uint32_t running_version() {
    return RTE_VERSION_NUM(rte_version_year(), rte_version_month(), rte_version_minor(),
                           rte_version_release());
}

/// Returns whether net_memif has its fast paths, as drivers/net/memif/rte_eth_memif.c since 23.03. `bsize`
/// selects them, at a server too.
/// * eth_memif_tx gives each segment a slot if bsize is at least the data room of the first one's pool. It
///   does not compare segments with slots.
/// * eth_memif_rx copies a slot into one mbuf if bsize is at most the data room of the queue's pool. It does
///   not compare the slot's length with the mbuf.
/// In both, the data room is without headroom.
constexpr bool memif_has_fast_paths(std::uint32_t version) noexcept {
    return version >= RTE_VERSION_NUM(23, 3, 0, 0);
}

/// Returns whether the fast path of eth_memif_tx leaves a chain's slots marked as continued. A later packet
/// in such a slot then runs on into the one behind it. Fixed in 26.03, and in the updates 25.11.1, 24.11.6
/// and 23.11.7. Debian 13 has 24.11.4, and 24.11.8 as a security update.
constexpr bool memif_corrupts_chains(std::uint32_t version) noexcept {
    if (!memif_has_fast_paths(version) || version >= RTE_VERSION_NUM(26, 3, 0, 0)) {
        return false;
    }
    // Updates count in the third number.
    constexpr std::uint32_t year_and_month = 0xFFFF0000U;
    switch (version & year_and_month) {
        case RTE_VERSION_NUM(23, 11, 0, 0):
            return version < RTE_VERSION_NUM(23, 11, 7, 0);
        case RTE_VERSION_NUM(24, 11, 0, 0):
            return version < RTE_VERSION_NUM(24, 11, 6, 0);
        case RTE_VERSION_NUM(25, 11, 0, 0):
            return version < RTE_VERSION_NUM(25, 11, 1, 0);
        default:
            return true;
    }
}

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
