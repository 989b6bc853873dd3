// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

/// Makes the frames of `top`, from two reports of a process and the size of the terminal. Pure.
namespace spead::app {

enum class TopPage : std::uint8_t { streams, loss, sends, ports, lcores };
inline constexpr std::array<std::string_view, 5> kTopPages{"streams", "loss", "sends", "ports", "lcores"};

enum class TopSort : std::uint8_t { name, rate, loss, queue };
inline constexpr std::array<std::string_view, 4> kTopSorts{"name", "rate", "loss", "queue"};

/// Holds the settings that the keys change.
struct TopView {
    TopPage page = TopPage::streams;
    TopSort sort = TopSort::name;
    bool reversed = false;   ///< smallest number, or last name, first
    std::size_t scroll = 0;  ///< rows of the table above the first that is shown
    bool keys = true;        ///< the line of keys at the bottom
    bool operator==(const TopView&) const = default;
};

/// Holds one report of a process's telemetry. Members that a process of another version does not have count
/// as 0.
struct TopSample {
    std::string name;
    std::int64_t pid = 0;
    double age_s = 0;               ///< of the report
    nlohmann::ordered_json report;  ///< null: none yet
};

struct TopSize {
    std::size_t columns = 80;
    std::size_t rows = 24;  ///< 0: no limit
};

struct TopFrame {
    std::vector<std::string> lines;  ///< none longer than the size's columns, no more than its rows
    std::size_t heading = 0;         ///< the line of the table's head
    std::size_t most_scroll = 0;     ///< larger values would show nothing new
};

/// Makes a frame. Rates are between `before` and `now`; "-" where there is none (the first frame, a new part,
/// cleared counters).
TopFrame top_frame(const TopSample& before, const TopSample& now, const TopView& view, const TopSize& size);

}  // namespace spead::app
