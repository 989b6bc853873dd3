// SPDX-License-Identifier: BSD-3-Clause
#include "app/eal_words.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace spead::app {

namespace {

constexpr std::array<std::string_view, 27> kEalOptions{"-l",
                                                       "-c",
                                                       "-a",
                                                       "-b",
                                                       "-m",
                                                       "-n",
                                                       "-d",
                                                       "-s",
                                                       "-r",
                                                       "-w",
                                                       "--vdev",
                                                       "--allow",
                                                       "--block",
                                                       "--no-huge",
                                                       "--no-pci",
                                                       "--in-memory",
                                                       "--no-shconf",
                                                       "--huge-dir",
                                                       "--socket-mem",
                                                       "--main-lcore",
                                                       "--file-prefix",
                                                       "--iova-mode",
                                                       "--proc-type",
                                                       "--legacy-mem",
                                                       "--telemetry",
                                                       "--no-telemetry",
                                                       "--base-virtaddr"};

}  // namespace

bool is_eal_option(std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    return std::find(kEalOptions.begin(), kEalOptions.end(), name) != kEalOptions.end();
}

void refuse_eal_option(std::string_view word) {
    throw_usage("", "`{}` is an option of EAL; give it before `--`, as in dpdk-spead -l 2,4 -- recv ...",
                word.substr(0, word.find('=')));
}

std::vector<std::string> eal_devices(const std::vector<std::string>& eal) {
    std::vector<std::string> devices;
    for (std::size_t i = 0; i < eal.size(); i++) {
        std::string_view device;
        if (eal[i].starts_with("--vdev="))
            device = std::string_view(eal[i]).substr(7);
        else if (eal[i] == "--vdev" && i + 1 < eal.size())
            device = eal[++i];
        if (!device.empty())
            devices.emplace_back(device.substr(0, device.find(',')));
    }
    return devices;
}

}  // namespace spead::app
