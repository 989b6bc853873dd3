// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "tests/support/heap_rig.hpp"
#include "tests/support/refusal.hpp"
#include "wire/flavour.hpp"

/// Makes received heaps for sinks with a real window, and places where sinks write them.
namespace spead::runtime::unit_test {

using heap::test::Packet;
using heap::test::Rig;
using spead::test::error_of;

/// Returns an item word as a packet has it: big-endian. Packets of the window's tests are SPEAD-64-40.
inline std::uint64_t addressed(std::uint64_t id, std::uint64_t offset) {
    return byte_swap(wire::Flavour(40).make_address(id, offset));
}
inline std::uint64_t immediate(std::uint64_t id, std::uint64_t value) {
    return byte_swap(wire::Flavour(40).make_immediate(id, value));
}

/// Returns the heap that the packets make. It is complete, or flushed at the end.
inline heap::HeapHandle heap_of(Rig& rig, const std::vector<Packet>& packets) {
    for (const Packet& p : packets)
        EXPECT_EQ(rig.give(p), PacketOutcome::placed);
    rig.hand_over();
    if (rig.queued() == 0)
        rig.flush();
    heap::HeapHandle heap = rig.pop();
    EXPECT_TRUE(heap) << "no heap came";
    return heap;
}

/// Makes a directory that goes away with the test.
class Directory {
  public:
    Directory() {
        std::string name = (std::filesystem::temp_directory_path() / "spead-runtime-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw Error("no temporary directory");
        path_ = name;
    }
    ~Directory() {
        std::error_code ignored;
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
        std::filesystem::remove_all(path_, ignored);
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;

    std::string path() const { return path_.string(); }
    std::string file(const std::string& name) const { return (path_ / name).string(); }
    /// Returns the names of the directory's files, sorted.
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& entry : std::filesystem::directory_iterator(path_))
            all.push_back(entry.path().filename().string());
        std::sort(all.begin(), all.end());
        return all;
    }

  private:
    std::filesystem::path path_;
};

inline std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    return lines;
}

}  // namespace spead::runtime::unit_test
