// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/findings.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "observe/table.hpp"

namespace spead::app {

namespace {

constexpr std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::warn:
            return "warn";
        case Verdict::fail:
            return "fail";
        case Verdict::ok:
            break;
    }
    return "ok";
}

std::ptrdiff_t count(std::span<const Finding> findings, Verdict verdict) {
    return std::ranges::count(findings, verdict, &Finding::verdict);
}

}  // namespace

void append(Findings& findings, Findings more) {
    std::ranges::move(more, std::back_inserter(findings));
}

Finding finding_of(const std::string& subject, const std::function<std::string()>& action) {
    try {
        return {Verdict::ok, subject, action(), {}};
    } catch (const Error& error) {
        return {Verdict::fail, subject, error.what(), {}};
    }
}

std::string describe(std::span<const Finding> findings) {
    std::size_t width = 0;
    for (const Finding& f : findings)
        width = std::max(width, observe::display_width(f.subject));
    std::string text;
    for (const Finding& f : findings) {
        text += fmt::format("{:<4}  {:<{}}  {}\n", name_of(f.verdict), f.subject, width, f.text);
        if (!f.fix.empty())
            text += fmt::format("{:<{}}run: {}\n", "", width + 8, f.fix);
    }
    return text + fmt::format("{} ok, {} to look at, {} failed\n", count(findings, Verdict::ok),
                              count(findings, Verdict::warn), count(findings, Verdict::fail));
}

nlohmann::ordered_json findings_document(std::span<const Finding> findings) {
    auto list = nlohmann::ordered_json::array();
    for (const Finding& f : findings)
        list.push_back(
            {{"verdict", name_of(f.verdict)}, {"subject", f.subject}, {"text", f.text}, {"fix", f.fix}});
    return {{"version", 1}, {"failed", count(findings, Verdict::fail)}, {"findings", list}};
}

bool any_failed(std::span<const Finding> findings) {
    return count(findings, Verdict::fail) != 0;
}

bool only_usage_failed(std::span<const Finding> findings) {
    return any_failed(findings) && std::all_of(findings.begin(), findings.end(), [](const Finding& f) {
               return f.verdict != Verdict::fail || f.usage;
           });
}

}  // namespace spead::app
