// SPDX-License-Identifier: BSD-3-Clause
#include "sink/hdf5_description.hpp"

#include <algorithm>
#include <barrier>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

namespace spead::sink {
namespace {

std::vector<std::byte> described(const std::string& name) {
    return hdf5_description({{"data", name + ".raw", {{"chunk", 3}, {"chan", 4}}, {{"", {'<', 'u', 2}}}},
                             {"chunks", name + ".chunks", {{"chunk", 3}}, {{"id", {'<', 'i', 8}}}}},
                            {{"stream", name}});
}

bool names(const std::vector<std::byte>& bytes, const std::string& name) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.starts_with("\x89HDF\r\n") && text.find(name + ".raw") != std::string_view::npos &&
           text.find(name + ".chunks") != std::string_view::npos;
}

// Each stream has a thread, and the library knows nothing of threads.
TEST(Hdf5Description, IsMadeByManyThreadsAtOnce) {
    if (!has_hdf5())
        GTEST_SKIP() << "this build has no HDF5";
    std::barrier together(4);
    std::vector<std::thread> all;
    for (const char* const name : {"s0", "s1", "s2", "s3"})
        all.emplace_back([&together, name] {
            together.arrive_and_wait();
            for (int i = 0; i < 50; i++)
                EXPECT_TRUE(names(described(name), name)) << name;
        });
    for (std::thread& thread : all)
        thread.join();
}

}  // namespace
}  // namespace spead::sink
