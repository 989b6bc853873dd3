// SPDX-License-Identifier: BSD-3-Clause
#include "spead/log.hpp"

#include <algorithm>
#include <utility>

#include <rte_log.h>

#include "base/log.hpp"
#include "base/log_stream.hpp"

namespace spead {

namespace {

Log::Level level_of(int of_dpdk) {
    const int level = std::clamp(of_dpdk, static_cast<int>(RTE_LOG_CRIT), static_cast<int>(RTE_LOG_DEBUG));
    return static_cast<Log::Level>(level - static_cast<int>(RTE_LOG_CRIT));
}

}  // namespace

void Log::redirect(Reader reader) {
    LogStream::install();
    if (!reader) {
        LogStream::redirect({});
        return;
    }
    LogStream::redirect(
        [reader = std::move(reader)](int level, std::string_view line) { reader(level_of(level), line); });
}

void Log::set_level(const std::string& level) {
    set_log_level(level, "log_level");
}

}  // namespace spead
