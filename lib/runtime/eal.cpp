// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/eal.hpp"

#include <atomic>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "base/error.hpp"
#include "port/log_capture.hpp"

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

}  // namespace spead::runtime
