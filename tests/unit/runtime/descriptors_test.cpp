// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/descriptors.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"

namespace spead::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Lowers this process's limit during its life, and restores it.
class Limit {
  public:
    explicit Limit(rlim_t now) {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit lower{now, before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
    }
    ~Limit() { setrlimit(RLIMIT_NOFILE, &before_); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

    rlim_t most() const { return before_.rlim_max; }

  private:
    rlimit before_{};
};

rlim_t now() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

TEST(NeedDescriptors, RaisesTheLimitAsFarAsItMay) {
    const Limit limit(64);
    need_descriptors(60);
    EXPECT_EQ(now(), limit.most());
}

TEST(NeedDescriptors, SaysWhatIsMissing) {
    const Limit limit(64);
    EXPECT_THAT([&] { need_descriptors(static_cast<std::size_t>(limit.most()) + 1); },
                ThrowsMessage<Error>(AllOf(HasSubstr(std::to_string(limit.most())), HasSubstr("ulimit -n"))));
}

TEST(KeptDescriptors, AreThoseAtTheLimit) {
    const Limit limit(64);
    EXPECT_FALSE(is_one_of_the_last(3));
    EXPECT_FALSE(is_one_of_the_last(64 - static_cast<int>(kKeptDescriptors) - 1));
    EXPECT_TRUE(is_one_of_the_last(64 - static_cast<int>(kKeptDescriptors)));
    EXPECT_TRUE(is_one_of_the_last(63));
    EXPECT_FALSE(is_one_of_the_last(-1));
}

TEST(KeptDescriptors, AreNeededBeforeEalNeedsThem) {
    const Limit limit(64);
    EXPECT_NO_THROW(need_kept_descriptors("a port"));
    std::vector<int> taken;
    for (int fd = 0; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
        taken.push_back(fd);
    // A sanitizer's own checks need descriptors, so the text is checked only when some are free.
    const auto refusal = [] {
        try {
            need_kept_descriptors("a port");
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const std::string without_any = refusal();
    for (std::size_t i = 0; i < kKeptDescriptors; i++) {
        close(taken.back());
        taken.pop_back();
    }
    EXPECT_THAT(without_any, AllOf(HasSubstr("of 64"), HasSubstr("a port")));
    EXPECT_THAT(refusal(), HasSubstr("too few"));
    close(taken.back());
    taken.pop_back();
    EXPECT_NO_THROW(need_kept_descriptors("a port"));
    for (const int fd : taken)
        close(fd);
}

TEST(NeedThreads, IsContentWithThoseItGets) {
    EXPECT_NO_THROW(need_threads(0));
    EXPECT_NO_THROW(need_threads(10));
}

}  // namespace
}  // namespace spead::runtime
