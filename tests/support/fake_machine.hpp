// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "port/machine.hpp"

/// Simulates a machine for a test: a tree of the kernel's files below a directory of its own, and interfaces.
namespace spead::test {

class FakeMachine {
  public:
    FakeMachine() {
        root_ = (std::filesystem::temp_directory_path() / "spead-host-XXXXXX").string();
        if (::mkdtemp(root_.data()) == nullptr) {
            throw std::runtime_error("cannot make " + root_);
        }
        machine_.files = port::Sysfs(root_);
        machine_.netdev = [this](const std::string& name) -> std::optional<port::NetdevFacts> {
            const auto found = netdevs_.find(name);
            return found == netdevs_.end() ? std::nullopt : std::optional{found->second};
        };
        machine_.netdevs = [this] { return order_; };
        machine_.netdev_of = [this](const IpAddress& address) -> std::string {
            for (const auto& [name, facts] : netdevs_) {
                if (address == IpAddress(facts.address) ||
                    (facts.address6 && address == IpAddress(*facts.address6))) {
                    return name;
                }
            }
            return {};
        };
        machine_.capable = [this](int capability) { return !missing_.contains(capability); };
        machine_.lockable = [this] { return lockable; };
        machine_.longest_file = [this] { return longest_file; };
        directory("/sys/bus/pci/devices");
    }
    ~FakeMachine() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }
    FakeMachine(const FakeMachine&) = delete;
    FakeMachine& operator=(const FakeMachine&) = delete;

    const port::Machine& view() const { return machine_; }

    void file(const std::string& path, const std::string& text) {
        const auto full = at(path);
        std::filesystem::create_directories(full.parent_path());
        std::ofstream(full) << text;
    }
    void directory(const std::string& path) { std::filesystem::create_directories(at(path)); }
    void link(const std::string& path, const std::string& target) {
        const auto full = at(path);
        std::filesystem::create_directories(full.parent_path());
        std::filesystem::remove(full);
        std::filesystem::create_symlink(target, full);
    }
    void remove(const std::string& path) { std::filesystem::remove_all(at(path)); }

    /// Adds a network card; `driver` is the kernel's, empty for none.
    void card(const std::string& address, std::uint16_t vendor, const std::string& driver) {
        const auto directory = "/sys/bus/pci/devices/" + address;
        file(directory + "/vendor", fmt::format("0x{:04x}\n", vendor));
        file(directory + "/class", "0x020000\n");
        file(directory + "/numa_node", "1\n");
        if (!driver.empty()) {
            link(directory + "/driver", "../../../bus/pci/drivers/" + driver);
        }
    }
    /// Adds an RDMA device of a card and its device file.
    void rdma(const std::string& address, const std::string& name, const std::string& verbs = "uverbs0") {
        directory(fmt::format("/sys/bus/pci/devices/{}/infiniband/{}", address, name));
        directory(fmt::format("/sys/bus/pci/devices/{}/infiniband_verbs/{}", address, verbs));
        link(fmt::format("/sys/class/infiniband/{}/device", name), "../../../" + address);
        file("/dev/infiniband/" + verbs, "");
    }
    /// Adds an interface that is up, on a card unless `address` is empty.
    port::NetdevFacts& netdev(const std::string& name, const std::string& address = {}) {
        port::NetdevFacts& facts = netdevs_[name];
        facts.name = name;
        facts.index = static_cast<unsigned>(10 + netdevs_.size());
        facts.mtu = 1500;
        facts.up = facts.running = facts.ethernet = true;
        order_.push_back(name);
        const auto directory_of = "/sys/class/net/" + name;
        file(directory_of + "/ifindex", fmt::format("{}\n", facts.index));
        if (!address.empty()) {
            const auto card = "/sys/bus/pci/devices/" + address;
            directory(card + "/net/" + name);
            link(directory_of + "/device", at(card).string());
            link(card + "/subsystem", "../../../bus/pci");
        }
        return facts;
    }
    void without(int capability) { missing_.insert(capability); }

    /// Adds huge pages on one NUMA node and to the machine's sum; once for each node and size.
    void huge_pages(int node, std::size_t kib, std::size_t reserved, std::size_t free) {
        auto& [all, left] = huge_[kib];
        all += reserved;
        left += free;
        for (const auto& [directory, r, f] :
             {std::tuple{fmt::format("/sys/devices/system/node/node{}/hugepages", node), reserved, free},
              std::tuple{std::string("/sys/kernel/mm/hugepages"), all, left}}) {
            file(fmt::format("{}/hugepages-{}kB/nr_hugepages", directory, kib), fmt::format("{}\n", r));
            file(fmt::format("{}/hugepages-{}kB/free_hugepages", directory, kib), fmt::format("{}\n", f));
        }
    }

    std::uint64_t lockable = UINT64_MAX;
    std::uint64_t longest_file = UINT64_MAX;

  private:
    std::filesystem::path at(const std::string& path) const {
        return std::filesystem::path(root_) / path.substr(1);
    }

    std::string root_;
    port::Machine machine_;
    std::map<std::string, port::NetdevFacts> netdevs_;
    std::vector<std::string> order_;
    std::set<int> missing_;
    std::map<std::size_t, std::pair<std::size_t, std::size_t>> huge_;  ///< by KiB: reserved, free
};

}  // namespace spead::test
