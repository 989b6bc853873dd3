// SPDX-License-Identifier: BSD-3-Clause
#include "observe/telemetry_fit.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>
#include <rte_telemetry.h>

#include "observe/json.hpp"

namespace spead::observe {

namespace {

/// Limits the members of an object, with room for "left_out" in each.
constexpr std::size_t kMembers = RTE_TEL_MAX_DICT_ENTRIES - 1;

static_assert(kTelemetryString == RTE_TEL_MAX_STRING_LEN - 1);
static_assert(kTelemetryText == RTE_TEL_MAX_SINGLE_STRING_LEN - 1);

std::string cut(std::string text) {
    text.resize(std::min(text.size(), kTelemetryString));
    return text;
}

std::string member_name(std::string_view name) {
    std::string out(name);
    std::replace_if(
        out.begin(), out.end(),
        [](char c) {
            return !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_');
        },
        '_');
    return cut(std::move(out));
}

bool is_count(const Json& value) {
    return value.is_number_unsigned() || value.is_boolean() ||
           (value.is_number_integer() && value.get<std::int64_t>() >= 0);
}

bool is_int(const Json& value) {
    return value.is_number_integer() && value.get<std::int64_t>() < 0 &&
           value.get<std::int64_t>() >= std::numeric_limits<int>::min();
}

/// Cuts lists and objects at `limit` entries.
class Fit {
  public:
    explicit Fit(std::size_t limit) : limit_(limit) {}

    Json value(const Json& v) const {
        if (v.is_object())
            return object(v);
        if (v.is_array())
            return list(v);
        if (is_count(v))
            return v.is_boolean() ? std::uint64_t{v.get<bool>()} : v.get<std::uint64_t>();
        if (is_int(v))
            return v;
        return cut(v.is_string() ? ascii(v.get_ref<const std::string&>()) : v.dump());
    }

  private:
    Json object(const Json& v) const {
        Json out = Json::object();
        std::size_t left_out = 0;
        for (const auto& [name, member] : v.items()) {
            if (member.is_null())
                continue;
            if (out.size() >= kMembers) {
                left_out++;
                continue;
            }
            out[member_name(name)] = value(member);
            if (member.is_array() && member.size() > limit_)
                left_out += member.size() - limit_;
        }
        if (left_out > 0)
            out["left_out"] = left_out;
        return out;
    }

    Json list(const Json& v) const {
        const std::size_t count = std::min(v.size(), limit_);
        const bool numbers = std::all_of(v.begin(), v.end(), is_count);
        const bool strings = std::all_of(v.begin(), v.end(), [](const Json& e) { return e.is_string(); });
        Json out = numbers || strings ? Json::array() : Json::object();
        for (std::size_t i = 0; i < count; i++) {
            if (numbers || strings)
                out.push_back(value(v[i]));
            else if (!v[i].is_null())
                out[std::to_string(i)] = value(v[i]);
        }
        return out;
    }

    std::size_t limit_;
};

}  // namespace

std::string ascii(std::string_view text) {
    std::string out(text);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c < 0x20 || c > 0x7E; }, '?');
    return out;
}

Json fit_telemetry(const Json& value) {
    Json out;
    for (std::size_t limit = kMembers; limit > 0; limit /= 2) {
        out = Fit(limit).value(value);
        if (out.dump().size() <= kTelemetryBytes)
            return out;
    }
    return Json{{"error", "the answer is too long for telemetry"}};
}

}  // namespace spead::observe
