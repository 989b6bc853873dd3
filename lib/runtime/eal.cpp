// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/eal.hpp"

#include <atomic>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "base/error.hpp"
#include "port/log_capture.hpp"
#include "runtime/layout.hpp"

namespace spead::runtime {

namespace {

std::atomic<bool> initialised{false};

}  // namespace

Eal::Eal(const std::vector<std::string>& arguments) {
    if (initialised.exchange(true))
        throw_error("EAL", "it has been initialised before in this process, and can be only once");
    // EAL keeps pointers into its arguments and reorders them.
    static std::vector<std::string> words;
    static std::vector<char*> pointers;
    words = arguments;
    words.insert(words.begin(), "dpdk-spead");
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    port::LogCapture log;
    if (rte_eal_init(static_cast<int>(words.size()), pointers.data()) < 0) {
        const std::string reason = log.take_reason();
        throw_error("EAL", "it refuses to start: {}", reason.empty() ? rte_strerror(rte_errno) : reason);
    }
}

Eal::~Eal() {
    rte_eal_cleanup();
}

std::vector<unsigned> Eal::worker_lcores() {
    std::vector<unsigned> ids;
    unsigned id = 0;
    RTE_LCORE_FOREACH_WORKER(id) {
        ids.push_back(id);
    }
    return ids;
}

void use_lcores_of_eal(Layout& layout, const EalOptions& options) {
    if (!options.has_lcores)
        return;
    const std::vector<unsigned> ids = Eal::worker_lcores();
    layout.main_lcore = rte_get_main_lcore();
    std::vector<unsigned> unused = ids;
    const auto take = [&unused](unsigned id) { return std::erase(unused, id) != 0; };
    std::vector<WorkerLayout*> unplaced;
    for (WorkerLayout& w : layout.workers) {
        if (take(w.cpu))
            w.lcore = w.cpu;
        else
            unplaced.push_back(&w);
    }
    for (WorkerLayout* const w : unplaced) {
        if (unused.empty())
            throw_error("EAL",
                        "too few lcores: {} workers are needed beside the main lcore {}, and -l or --lcores "
                        "gives {}; "
                        "add lcores, or leave the choice to the program",
                        layout.workers.size(), layout.main_lcore, ids.size());
        w->lcore = unused.front();
        unused.erase(unused.begin());
    }
    for (WorkerLayout& w : layout.workers)
        w.cpu = static_cast<unsigned>(rte_lcore_to_cpu_id(static_cast<int>(w.lcore)));
}

}  // namespace spead::runtime
