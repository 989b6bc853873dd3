// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/table.hpp"

#include <array>

namespace spead::app::commands {

std::span<const CommandEntry> table() {
    static const std::array entries{recv(),           send(),         loopback(),
                                    capture(),        replay(),       run(),
                                    plan(),           info(),         check(),
                                    selftest(),       top(),          attach(),
                                    bench_assemble(), bench_chunks(), bench_distribute(),
                                    bench_transmit(), bench_link(),   bench_latency(),
                                    bench_gpu()};
    return entries;
}

}  // namespace spead::app::commands
