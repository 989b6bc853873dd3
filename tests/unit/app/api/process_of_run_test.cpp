// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/process_of_run.hpp"

#include <future>

#include <gtest/gtest.h>

#include "tests/unit/app/prompt/fake_process.hpp"

namespace spead::app {
namespace {

/// Lets a call wait, as for a main thread.
class SlowProcess : public test::FakeProcess {
  public:
    void stop_port(const std::string& port) override {
        begun.set_value();
        may_end.get_future().wait();
        FakeProcess::stop_port(port);
    }
    std::promise<void> begun;
    std::promise<void> may_end;
};

TEST(ProcessOfRun, RefusesCallsBeforeAndAfterTheRun) {
    test::FakeProcess process;
    ProcessOfRun running;
    EXPECT_THROW(running.plan(), runtime::Ending);
    running.attach(process);
    EXPECT_EQ(running.plan(), process.plan_);
    running.detach();
    EXPECT_THROW(running.end(), runtime::Ending);
    EXPECT_FALSE(process.ended);
}

TEST(ProcessOfRun, TheEndWaitsForACallUnderWayAndRefusesOthers) {
    SlowProcess process;
    ProcessOfRun running;
    running.attach(process);
    std::thread caller([&] { running.stop_port("p0"); });
    process.begun.get_future().wait();
    std::thread ender([&] {
        running.detach();
        EXPECT_EQ(process.done.size(), 1U);
    });
    const auto is_refused = [&running] {
        try {
            running.plan();
        } catch (const runtime::Ending&) {
            return true;
        }
        return false;
    };
    while (!is_refused())
        std::this_thread::yield();
    process.may_end.set_value();
    caller.join();
    ender.join();
}

}  // namespace
}  // namespace spead::app
