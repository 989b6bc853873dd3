// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "runtime/layout.hpp"

namespace spead::runtime {

std::string describe(const Layout& layout, const Plan& plan) {
    std::string text = fmt::format("main lcore {} on CPU {}\n", layout.main_lcore, layout.main_cpu);
    for (const WorkerLayout& w : layout.workers) {
        text += fmt::format("lcore {} on CPU {}:", w.lcore, w.cpu);
        for (const std::size_t i : w.receives)
            text += fmt::format(" receive {} ({})", plan.receives[i].name, plan.receives[i].port);
        for (const std::size_t i : w.sends)
            text += fmt::format(" send {} ({})", plan.sends[i].name, plan.sends[i].port);
        text += '\n';
    }
    for (const port::PlannedPort& p : layout.ports) {
        text += fmt::format("port {}: {}\n", p.request.name, p.device.devargs);
        if (p.request.rx_queues != 0)
            text += fmt::format("  receive queue: {}\n", port::to_string(p.device.rx));
        if (p.request.tx_queues != 0)
            text += fmt::format("  transmit queue: {}\n", port::to_string(p.device.tx));
    }
    text +=
        fmt::format("memory: {} for heaps, {} for windows and queues, {} of payload to send, {} for EAL\n",
                    human_size(layout.heap_bytes), human_size(layout.bookkeeping_bytes),
                    human_size(layout.send_bytes), human_size(layout.eal_bytes));
    for (const std::string& remark : layout.remarks)
        text += remark + '\n';
    text += fmt::format("EAL arguments: {}\n", fmt::join(layout.eal_args, " "));
    return text;
}

}  // namespace spead::runtime
