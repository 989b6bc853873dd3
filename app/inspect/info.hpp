// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace spead::app {

struct InfoOptions {
    std::vector<std::string> ports;  ///< empty: every candidate interface
    bool drivers = false;            ///< print the table of families instead
    bool formats = false;            ///< print the known formats of packets instead
    bool json = false;
    bool operator==(const InfoOptions&) const = default;
};

/// Runs `info`: opens each named port, configures it, prints its facts and capabilities, and closes it; no
/// packet is received or sent. Without names it takes every candidate. Those that carry the default route,
/// are down or may be another program's are listed but not opened. Starts EAL with `eal_words`. Returns an
/// exit status: 1 when a named port could not be opened.
int info(const InfoOptions& options, const std::vector<std::string>& eal_words);

}  // namespace spead::app
