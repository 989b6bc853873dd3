// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/driver_table.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "observe/table.hpp"

namespace spead::app {

namespace {

const char* yes(bool given) {
    return given ? "yes" : "-";
}

std::string named_by(const port::Driver& driver) {
    if (driver.pci())
        return "card";
    return driver.netdev_rank() > 0 ? "netdev, string" : "string";
}

std::string steering(const port::Capabilities& c) {
    return std::string(port::name_of(c.steering)) + (c.isolation ? ", isolated" : "");
}

}  // namespace

std::string driver_table(std::span<const port::Driver* const> drivers) {
    using TableRow = std::array<std::string, 15>;
    std::vector<TableRow> rows{{"driver", "named by", "steering", "membership", "chains sent", "zero copy",
                                "from GPUs", "splits", "freed late", "interrupt", "by source", "lossless",
                                "timestamps", "send times", "largest frame"}};
    for (const port::Driver* driver : drivers) {
        const port::Capabilities c = driver->declared();
        rows.push_back({std::string(driver->name()), named_by(*driver), steering(c),
                        std::string(port::name_of(c.membership)), yes(c.tx_multi_segment),
                        yes(c.tx_multi_segment && c.tx_external_buffer), yes(c.tx_device_memory),
                        std::string(port::name_of(c.splitting)), fmt::format("{}", c.late_free_segments),
                        yes(c.rx_interrupt), yes(c.spreads_sources), yes(c.lossless),
                        std::string(port::name_of(c.rx_timestamps)), yes(c.send_on_time),
                        fmt::format("{}", c.max_rx_frame)});
    }
    std::array<std::size_t, std::tuple_size_v<TableRow>> widths{};
    for (const TableRow& row : rows)
        for (std::size_t i = 0; i < row.size(); i++)
            widths[i] = std::max(widths[i], observe::display_width(row[i]));
    std::string text;
    for (std::size_t r = 0; r < rows.size(); r++) {
        for (std::size_t i = 0; i < widths.size(); i++)
            text += fmt::format("| {:<{}} ", rows[r][i], widths[i]);
        text += "|\n";
        if (r == 0) {
            for (const std::size_t width : widths)
                text += fmt::format("|{:-<{}}", "", width + 2);
            text += "|\n";
        }
    }
    return text;
}

nlohmann::ordered_json capability_document(const port::Capabilities& c) {
    return {{"steering", port::name_of(c.steering)},
            {"isolation", c.isolation},
            {"distributes_flows", c.distributes_flows},
            {"membership", port::name_of(c.membership)},
            {"tx_multi_segment", c.tx_multi_segment},
            {"tx_external_buffer", c.tx_external_buffer},
            {"tx_device_memory", c.tx_device_memory},
            {"late_free_segments", c.late_free_segments},
            {"rx_interrupt", c.rx_interrupt},
            {"spreads_sources", c.spreads_sources},
            {"lossless", c.lossless},
            {"finite", c.finite},
            {"receives_own", c.receives_own},
            {"needs_peer", c.needs_peer},
            {"rx_timestamps",
             c.rx_timestamps == port::RxTimestamps::none ? "none" : port::name_of(c.rx_timestamps)},
            {"send_on_time", c.send_on_time},
            {"max_rx_frame", c.max_rx_frame},
            {"max_tx_frame", c.max_tx_frame}};
}

nlohmann::ordered_json driver_document(std::span<const port::Driver* const> drivers) {
    auto list = nlohmann::ordered_json::array();
    for (const port::Driver* driver : drivers)
        list.push_back({{"driver", driver->name()},
                        {"named_by", named_by(*driver)},
                        {"capabilities", capability_document(driver->declared())}});
    return list;
}

}  // namespace spead::app
