// SPDX-License-Identifier: BSD-3-Clause
#include "observe/telemetry.hpp"

#include <cstdlib>
#include <mutex>
#include <utility>

#include <rte_telemetry.h>

#include "base/dpdk_version.hpp"
#include "base/error.hpp"
#include "observe/json.hpp"
#include "observe/telemetry_fit.hpp"

namespace spead::observe {

namespace {

struct Served {
    std::mutex mutex;
    std::shared_ptr<TelemetryAnswers> answers;  ///< null: nothing runs
    bool registered = false;
};

/// Returns the served object. Never destroyed: DPDK's threads may ask until the process has ended.
Served& served() {
    static Served& one = *new Served;
    return one;
}

bool is_strings(const Json& list) {
    return !list.empty() && list.front().is_string();
}

void put_list(rte_tel_data* to, const Json& list) {
    if (is_strings(list)) {
        rte_tel_data_start_array(to, RTE_TEL_STRING_VAL);
        for (const Json& entry : list)
            rte_tel_data_add_array_string(to, entry.get_ref<const std::string&>().c_str());
        return;
    }
    rte_tel_data_start_array(to, dpdk::kTelemetryUnsigned);
    for (const Json& entry : list)
        dpdk::add_unsigned(to, entry.get<std::uint64_t>());
}

/// Writes an answer that fits (fit_telemetry).
void put_object(rte_tel_data* to, const Json& object) {
    rte_tel_data_start_dict(to);
    for (const auto& [name, value] : object.items()) {
        if (value.is_string()) {
            rte_tel_data_add_dict_string(to, name.c_str(), value.get_ref<const std::string&>().c_str());
        } else if (value.is_number_unsigned()) {
            dpdk::add_unsigned(to, name.c_str(), value.get<std::uint64_t>());
        } else if (value.is_number()) {
            rte_tel_data_add_dict_int(to, name.c_str(), value.get<int>());
        } else if (rte_tel_data* const part = rte_tel_data_alloc()) {
            if (value.is_object())
                put_object(part, value);
            else
                put_list(part, value);
            // It is freed when it has been sent; one that is refused is ours.
            if (rte_tel_data_add_dict_container(to, name.c_str(), part, 0) < 0)
                rte_tel_data_free(part);
        }
    }
}

void put(rte_tel_data* to, const Json& answer) {
    if (answer.is_string()) {
        rte_tel_data_string(to, answer.get_ref<const std::string&>().c_str());
        return;
    }
    const Json fitting = fit_telemetry(answer);
    if (fitting.is_array())
        put_list(to, fitting);
    else
        put_object(to, fitting);
}

/// Is called by DPDK, which is C, so it must not throw.
int on_command(const char* command, const char* parameter, rte_tel_data* data) noexcept {
    try {
        std::shared_ptr<TelemetryAnswers> answers;
        {
            const std::lock_guard lock(served().mutex);
            answers = served().answers;
        }
        put(data, answers ? answers->answer(command, parameter == nullptr ? "" : parameter)
                          : Json{{"error", "no run is in progress"}});
        return 0;
    } catch (const std::exception&) {
        return -1;
    }
}

}  // namespace

Telemetry::Telemetry(std::shared_ptr<TelemetryAnswers> answers) {
    Served& s = served();
    const std::lock_guard lock(s.mutex);
    s.answers = std::move(answers);
    if (std::exchange(s.registered, true))
        return;
    for (const TelemetryCommand& command : kTelemetryCommands)
        if (rte_telemetry_register_cmd(command.name, on_command, command.help) != 0)
            throw_error("telemetry", "DPDK refuses the command {}", command.name);
}

Telemetry::~Telemetry() {
    const std::lock_guard lock(served().mutex);
    served().answers.reset();
}

}  // namespace spead::observe
