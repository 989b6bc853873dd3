// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace spead::app {

struct InfoOptions {
    std::vector<std::string> ports;  ///< empty: every interface that could be one
    bool drivers = false;            ///< the table of families instead
    bool json = false;
    bool operator==(const InfoOptions&) const = default;
};

/// `info`: opens each port named, configures it, prints what it is and can do, and closes it; no packet is
/// received or sent. Without names, every candidate: those that carry the default route, are down or may be
/// another program's are listed but not opened. Starts EAL with `eal_words`. Returns an exit status: 1 when a
/// port that was named could not be opened.
int info(const InfoOptions& options, const std::vector<std::string>& eal_words);

}  // namespace spead::app
