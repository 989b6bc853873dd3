// SPDX-License-Identifier: BSD-3-Clause
#include "memory/mapping.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/no_locking.hpp"

namespace spead::memory {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

TEST(Mapping, IsEmptyByItself) {
    const Mapping m;
    EXPECT_EQ(m.base(), nullptr);
    EXPECT_EQ(m.length(), 0U);
}

TEST(Mapping, IsZeroedWritableAndAlignedToAHugePage) {
    const Mapping m(5 * kMebibyte);
    ASSERT_NE(m.base(), nullptr);
    EXPECT_EQ(m.length(), 6 * kMebibyte) << "rounded up to 2 MiB";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.base()) % (2 * kMebibyte), 0U);
    for (std::size_t i = 0; i < m.length(); i += 4096)
        ASSERT_EQ(m.base()[i], std::byte{0});
    std::memset(m.base(), 0xff, m.length());
    EXPECT_EQ(m.base()[m.length() - 1], std::byte{0xff});
}

TEST(Mapping, OfNoBytesIsOneHugePage) {
    EXPECT_EQ(Mapping(0).length(), 2 * kMebibyte);
}

TEST(Mapping, IsResidentWhenItIsMade) {
    const Mapping m(4 * kMebibyte);
    std::vector<unsigned char> pages(m.length() / 4096);
    ASSERT_EQ(mincore(m.base(), m.length(), pages.data()), 0);
    for (std::size_t i = 0; i < pages.size(); i++)
        ASSERT_EQ(pages[i] & 1, 1) << "page " << i;
}

/// Returns the bytes of this process that are locked in memory.
std::size_t locked_bytes() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("VmLck:"))
            return std::stoull(line.substr(6)) * 1024;
    return 0;
}

TEST(Mapping, IsLockedWhenAskedUntilItEnds) {
    if (test::kLocksNothing)
        GTEST_SKIP() << "AddressSanitizer makes mlock do nothing";
    const std::size_t before = locked_bytes();
    {
        Mapping m(4 * kMebibyte);
        EXPECT_EQ(m.kind(), MemoryKind::host);
        const int error = m.lock();
        if (error != 0)
            GTEST_SKIP() << "this process may not lock 4 MiB: " << std::strerror(error);
        EXPECT_EQ(m.kind(), MemoryKind::pinned);
        if (m.backing() != Mapping::Backing::hugetlb) {
            EXPECT_EQ(locked_bytes(), before + m.length());
        }
        const Mapping moved = std::move(m);
        EXPECT_EQ(moved.kind(), MemoryKind::pinned);
    }
    EXPECT_EQ(locked_bytes(), before);
}

TEST(Mapping, ThatMayNotBeLockedSaysSoAndStaysUsable) {
    if (test::kLocksNothing)
        GTEST_SKIP() << "AddressSanitizer makes mlock do nothing";
    const std::string text = test::where_locking_is_limited(64 * 1024, [] {
        Mapping m(4 * kMebibyte);
        if (m.backing() == Mapping::Backing::hugetlb)
            return std::string(m.lock() == 0 ? "refused" : "huge pages need no limit");
        const int error = m.lock();
        std::memset(m.base(), 1, m.length());
        return std::string(error == ENOMEM && m.kind() == MemoryKind::host ? "refused" : "not refused");
    });
    EXPECT_EQ(text, "refused");
}

TEST(Mapping, MovesAndLeavesNothingBehind) {
    Mapping a(2 * kMebibyte);
    std::byte* const base = a.base();
    std::memset(base, 1, a.length());
    Mapping b = std::move(a);
    EXPECT_EQ(a.base(), nullptr);
    EXPECT_EQ(b.base(), base);
    Mapping c(2 * kMebibyte);
    c = std::move(b);
    EXPECT_EQ(c.base(), base);
    EXPECT_EQ(c.base()[c.length() - 1], std::byte{1});
}

TEST(Mapping, ThatDoesNotFitIsRefusedWithTheSum) {
    const std::size_t available = available_memory();
    if (available == 0)
        GTEST_SKIP() << "/proc/meminfo does not tell what is available";
    try {
        const Mapping m(available + available / 2);
        FAIL() << "more than the available memory was mapped";
    } catch (const Error& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("available"), std::string::npos) << text;
        EXPECT_NE(text.find("[memory] heaps"), std::string::npos) << "says what to change: " << text;
    }
}

TEST(Mapping, OfAnAbsurdLengthIsRefusedToo) {
    EXPECT_THROW(Mapping(std::size_t{1} << 60), Error);
    EXPECT_THROW(Mapping(~std::size_t{0}), Error) << "rounding up must not wrap to something small";
}

/// Makes files like those of the kernel, in a directory of their own.
class AvailableMemory : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "spead-memory-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
        sources_.meminfo = (root_ / "meminfo").string();
        sources_.membership = (root_ / "membership").string();
        sources_.groups = (root_ / "groups").string();
        write("meminfo", "MemTotal: 8000 kB\nMemFree: 10 kB\nMemAvailable:    4000 kB\nBuffers: 1 kB\n");
        write("membership", "4:memory:/elsewhere\n0::/outer/inner\n");
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    void write(const std::string& name, const std::string& text) {
        std::filesystem::create_directories((root_ / name).parent_path());
        std::ofstream(root_ / name) << text;
    }
    void group(const std::string& name, const std::string& max, const std::string& current) {
        write("groups" + name + "/memory.max", max + "\n");
        write("groups" + name + "/memory.current", current + "\n");
    }
    std::size_t available() const { return available_memory(sources_); }

    std::filesystem::path root_;
    MemorySources sources_;
};

TEST_F(AvailableMemory, IsTheMachinesWhereNoGroupHasALimit) {
    EXPECT_EQ(available(), 4000U * 1024) << "no unified hierarchy at all";
    group("/outer/inner", "max", "1000");
    group("/outer", "max", "1000");
    EXPECT_EQ(available(), 4000U * 1024);
}

TEST_F(AvailableMemory, IsWhatTheGroupsLimitLeaves) {
    group("/outer/inner", "3000000", "1000000");
    EXPECT_EQ(available(), 2000000U);
    write("groups/outer/inner/memory.stat", "anon 5\nfile 400000\ninactive_file 300000\n");
    EXPECT_EQ(available(), 2300000U) << "cache can be had";
    write("groups/outer/inner/memory.stat", "inactive_file 9000000\n");
    EXPECT_EQ(available(), 3000000U);
    group("/outer/inner", "300000000", "1000000");
    EXPECT_EQ(available(), 4000U * 1024) << "the machine has less";
}

TEST_F(AvailableMemory, IsWhatTheGroupsAboveLeave) {
    group("/outer/inner", "max", "1000000");
    group("/outer", "2500000", "1000000");
    EXPECT_EQ(available(), 1500000U);
    group("", "1200000", "1000000");
    EXPECT_EQ(available(), 200000U) << "a container's own root shows its limit";
    group("/elsewhere", "1", "0");
    EXPECT_EQ(available(), 200000U) << "not a group of this process";
}

TEST_F(AvailableMemory, OfAGroupThatIsFullIsNotUnknown) {
    group("/outer/inner", "1000", "1000");
    EXPECT_EQ(available(), 1U);
    group("/outer/inner", "1000", "2000");
    EXPECT_EQ(available(), 1U);
}

TEST_F(AvailableMemory, IsUnknownWhereNothingTells) {
    sources_.meminfo = (root_ / "nothing").string();
    EXPECT_EQ(available(), 0U);
    sources_.membership = sources_.meminfo;
    EXPECT_EQ(available(), 0U);
}

TEST(Mapping, NamesItsBacking) {
    EXPECT_EQ(name_of(Mapping::Backing::hugetlb), "huge pages");
    EXPECT_EQ(name_of(Mapping::Backing::transparent), "transparent huge pages");
    EXPECT_EQ(name_of(Mapping::Backing::plain), "4 KiB pages");
}

}  // namespace
}  // namespace spead::memory
