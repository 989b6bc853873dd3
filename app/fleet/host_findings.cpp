// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/host_findings.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "base/printable.hpp"
#include "observe/json.hpp"
#include "stats/finding.hpp"

namespace spead::app {

namespace {

using observe::Json;

/// Lists the causes that processes without `kind` report, and that are no loss.
constexpr std::array kNoLoss{stats::Cause::impaired, stats::Cause::cut_by_join};

bool is_loss(const std::string& cause, const std::string& kind) {
    return kind.empty() ? std::ranges::none_of(kNoLoss, [&](stats::Cause c) { return cause == name_of(c); })
                        : kind == name_of(stats::Kind::loss);
}

/// Returns the text, printable; empty: it is none.
std::string text_of(const Json& value) {
    if (!value.is_string())
        return {};
    const auto& text = value.get_ref<const std::string&>();
    return printable(std::string_view(text).substr(0, kLongestText));
}

std::string text_of(const Json& entry, const char* key) {
    const auto found = entry.find(key);
    return found == entry.end() ? std::string() : text_of(*found);
}

std::vector<std::string> cures_of(const Json& entry) {
    std::vector<std::string> cures;
    const auto found = entry.find("cures");
    if (found == entry.end() || !found->is_array())
        return cures;
    for (const Json& one : *found)
        if (std::string cure = text_of(one); !cure.empty() && cures.size() < kMostCures)
            cures.push_back(std::move(cure));
    return cures;
}

double number_of(const Json& entry, const char* key) {
    const auto found = entry.find(key);
    return found != entry.end() && found->is_number() ? found->get<double>() : 0;
}

/// Returns whether the finding is a loss that goes on. One without a time of its last growth is a state.
bool is_now(const Json& entry, double run_seconds) {
    const auto until = entry.find("until_s");
    if (until != entry.end() && !until->is_null())
        return false;
    const double last = number_of(entry, "last_s");
    return last <= 0 || run_seconds - last <= stats::kLately;
}

}  // namespace

std::vector<HostFinding> findings_now(std::string_view json, double run_seconds) {
    std::vector<HostFinding> found;
    const Json all = Json::parse(json, nullptr, false);
    if (!all.is_array())
        return found;
    for (const Json& entry : all) {
        if (found.size() == kMostFindings)
            break;
        if (!entry.is_object() || !is_now(entry, run_seconds))
            continue;
        HostFinding finding{.where = text_of(entry, "where"),
                            .cause = text_of(entry, "cause"),
                            .stage = text_of(entry, "stage"),
                            .what = text_of(entry, "what"),
                            .cures = cures_of(entry),
                            .first_s = number_of(entry, "first_s")};
        if (finding.cause.empty() || !is_loss(finding.cause, text_of(entry, "kind")))
            continue;
        if (const double count = number_of(entry, "count"); count > 0)
            finding.what = fmt::format("{:.0f} {} {}", count, text_of(entry, "unit"), finding.what);
        found.push_back(std::move(finding));
    }
    return found;
}

}  // namespace spead::app
