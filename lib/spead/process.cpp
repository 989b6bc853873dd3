// SPDX-License-Identifier: BSD-3-Clause
#include "spead/process.hpp"

#include <cstdlib>
#include <sstream>
#include <utility>

#include <fmt/core.h>
#include <rte_version.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "observe/report.hpp"
#include "spead/plan_edits.hpp"
#include "spead/session.hpp"

namespace spead {

namespace {

/// Returns the variable's value; empty when it is not set.
std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

ProcessConfig ProcessConfig::from_environment() {
    ProcessConfig config;
    if (const std::string name = variable("DPDK_SPEAD_NAME"); !name.empty())
        config.name = name;
    if (const std::string cpu = variable("DPDK_SPEAD_MAIN_CPU"); !cpu.empty()) {
        const std::vector<unsigned> cpus = door::parse_cpus(cpu, "DPDK_SPEAD_MAIN_CPU");
        if (cpus.size() != 1)
            throw_usage("DPDK_SPEAD_MAIN_CPU", "`{}` names several CPUs; give one", cpu);
        config.main_cpu = cpus.front();
    }
    config.lcores = door::parse_cpus(variable("DPDK_SPEAD_LCORES"), "DPDK_SPEAD_LCORES");
    if (const std::string size = variable("DPDK_SPEAD_EAL_MEMORY"); !size.empty())
        config.eal_memory = parse_size(size, "DPDK_SPEAD_EAL_MEMORY");
    std::istringstream words(variable("DPDK_SPEAD_EAL"));
    for (std::string word; words >> word;)
        config.eal.push_back(word);
    if (const std::string level = variable("DPDK_SPEAD_LOG_LEVEL"); !level.empty())
        config.log_level = level;
    return config;
}

Process::Process(const ProcessConfig& config) : session_(door::Session::start(config)) {}

Process Process::shared() {
    return Process(door::Session::shared(ProcessConfig::from_environment()));
}

std::optional<Process> Process::current() {
    std::shared_ptr<door::Session> session = door::Session::current();
    return session ? std::optional(Process(std::move(session))) : std::nullopt;
}

std::string Process::dpdk_version() {
    return fmt::format("{}.{:02}.{}", rte_version_year(), rte_version_month(), rte_version_minor());
}

void Process::stop() noexcept {
    session_->stop();
}

bool Process::running() const noexcept {
    return session_->running();
}

std::vector<std::string> Process::problems() const {
    return session_->problems();
}

void Process::apply(std::string_view plan, std::string_view name) {
    const bool is_empty = plan.find_first_not_of(" \t\r\n") == std::string_view::npos;
    runtime::Plan given = is_empty ? runtime::Plan{} : config::parse_text(plan, name);
    const std::string level = given.runtime.log_level;
    session_->apply(std::move(given));
    if (!level.empty())
        set_log_level(level, "log_level");
}

std::string Process::report() const {
    return observe::report_json(
        session_->on_engine([](runtime::Engine& engine) { return engine.snapshot(); }));
}

}  // namespace spead
