// SPDX-License-Identifier: BSD-3-Clause
#include "observe/process_usage.hpp"

#include <chrono>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <future>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>

#include <gtest/gtest.h>

#include "base/file_descriptor.hpp"

namespace spead::observe {
namespace {

TEST(ProcessUsage, FieldsAreThoseOfProc5) {
    // Fields 3 to 26, each its own number.
    const std::string rest = " S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26\n";
    const StatFields wanted{.threads = 20, .start_ticks = 22, .virtual_bytes = 23, .resident_pages = 24};
    for (const char* const name : {"1 (dpdk-spead)", "1 (a) b 99 (c)", "1 ()", "1 (two words)"})
        EXPECT_EQ(parse_stat_fields(name + rest), wanted) << name;
    EXPECT_EQ(parse_stat_fields("1 (x) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24"), wanted)
        << "no field follows";
}

TEST(ProcessUsage, TextThatIsNoStatHasNoFields) {
    for (const char* const text :
         {"", "1 dpdk-spead S 4", "1 (x)", "1 (x) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23",
          "1 (x) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 many 21 22 23 24",
          "1 (x) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 99999999999999999999999"})
        EXPECT_EQ(parse_stat_fields(text), std::nullopt) << text;
}

TEST(ProcessUsage, CountsDescriptorsThreadsAndMemory) {
    const ProcessUsage before = process_usage();
    std::deque<FileDescriptor> open;
    for (int i = 0; i < 7; i++)
        open.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    constexpr std::size_t kBytes = 64 << 20;
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    std::promise<void> seen;
    const std::shared_future<void> end = seen.get_future().share();
    std::deque<std::thread> threads;
    for (int i = 0; i < 7; i++)
        threads.emplace_back([end] { end.wait(); });
    const ProcessUsage after = process_usage();
    seen.set_value();
    for (std::thread& thread : threads)
        thread.join();
    munmap(memory, kBytes);
    ASSERT_TRUE(before.descriptors && before.threads && before.resident_bytes && before.virtual_bytes);
    ASSERT_TRUE(after.descriptors && after.threads && after.resident_bytes && after.virtual_bytes);
    EXPECT_EQ(*after.descriptors, *before.descriptors + 7);
    // Threads of tests before this one may still be on their way out.
    EXPECT_GE(*before.threads, 1u);
    EXPECT_GE(*after.threads, 8u);
    EXPECT_GE(*after.resident_bytes, *before.resident_bytes + kBytes / 2);
    EXPECT_GE(*after.virtual_bytes, *before.virtual_bytes + kBytes);
}

TEST(ProcessUsage, TimesAreThoseOfThisProcess) {
    const ProcessUsage usage = process_usage();
    ASSERT_TRUE(usage.start_s && usage.cpu_s && usage.most_descriptors);
    const double now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    EXPECT_LE(*usage.start_s, now + 2) << "btime is rounded to a second";
    EXPECT_GT(*usage.start_s, now - 24 * 3600);
    EXPECT_GT(*usage.cpu_s, 0);
    EXPECT_LE(*usage.cpu_s, static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(*usage.most_descriptors, limit.rlim_cur);
}

TEST(ProcessUsage, WithoutADescriptorItKnowsLessAndDoesNotThrow) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit none{0, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    const ProcessUsage usage = process_usage();
    setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(usage.descriptors, std::nullopt);
    EXPECT_EQ(usage.resident_bytes, std::nullopt);
    EXPECT_EQ(usage.start_s, std::nullopt);
    EXPECT_TRUE(usage.cpu_s);
    EXPECT_EQ(usage.most_descriptors, 0u);
}

}  // namespace
}  // namespace spead::observe
