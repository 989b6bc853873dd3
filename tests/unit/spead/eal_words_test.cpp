// SPDX-License-Identifier: BSD-3-Clause
#include "spead/eal_words.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/refusal.hpp"

namespace spead::door {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& word) {
    return spead::test::refusal([&] { need_harmless({"--no-pci", word}); });
}

TEST(EalWords, ThatEndTheProcessAreRefusedHoweverTheyAreWritten) {
    for (const char* const word :
         {"-h", "--help", "--hel", "--h", "-v", "--version", "--vers", "-hv", "-vh", "-vn4"})
        EXPECT_THAT(refusal(word), HasSubstr("ends the process")) << word;
}

TEST(EalWords, ThatShareAnothersEalAreRefused) {
    for (const char* const word :
         {"--proc-type", "--proc-type=secondary", "--proc-type=auto", "--proc=primary", "--p"})
        EXPECT_THAT(refusal(word), HasSubstr("another one's EAL")) << word;
}

TEST(EalWords, OfOtherOptionsAreAccepted) {
    for (const char* const word :
         {"--vdev=net_ring0", "--huge-dir", "/hugepages", "-n", "4", "-l", "0,1", "--", "-", "",
          "--log-level=lib.eal:debug", "--no-huge", "-d", "libx.so", "--vfio-intr=msi"})
        EXPECT_EQ(refusal(word), "") << word;
}

}  // namespace
}  // namespace spead::door
