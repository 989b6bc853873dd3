// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/second_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/core.h>

#include "app/bench/json_channel.hpp"
#include "base/error.hpp"
#include "config/names.hpp"
#include "port/machine.hpp"
#include "runtime/numa.hpp"

namespace spead::app {

namespace {

constexpr std::chrono::seconds kSecondEndPatience{30};

void keep_to(const std::vector<unsigned>& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : cpus)
        CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

MeetingPlace::MeetingPlace()
    : directory_(std::filesystem::temp_directory_path() / "dpdk-spead-bench-XXXXXX") {
    if (mkdtemp(directory_.data()) == nullptr)
        throw_error("bench", "cannot make the directory {}: {}", directory_, std::strerror(errno));
}

MeetingPlace::~MeetingPlace() {
    unlink(socket().c_str());
    rmdir(directory_.c_str());
}

std::string MeetingPlace::near_device() const {
    return fmt::format("net_memif0,role=client,socket={}", socket());
}

std::string MeetingPlace::far_device() const {
    return fmt::format("net_memif0,role=server,socket={}", socket());
}

PairPlacement take_near_end(PairOptions& options) {
    const port::Sysfs& files = port::this_machine().files;
    PairPlacement placement =
        place_pair(bench_cpus(files, runtime::allowed_cpus()), options.tx_lcore, options.rx_lcore);
    options.tx_lcore = placement.near.lcore;
    keep_to(placement.near.cpus);
    return placement;
}

SecondProcess::SecondProcess(PairOptions& options, const runtime::EalOptions& eal) {
    if (!eal.words.empty())
        throw_usage("EAL",
                    "EAL's options are for one process, and without ports bench starts a second one; name "
                    "the ports, or use --server and --client");
    options.tx_port = meeting_.near_device();
    placement_ = take_near_end(options);
    std::vector<std::string> words{
        "bench",      options.kind == PairKind::link ? "link" : "latency",
        "--server",   fmt::format("fd:{}", JsonChannel::kChildDescriptor),
        "--rx-port",  meeting_.far_device(),
        "--poll",     std::string(config::name_in(config::kPollModes, options.poll)),
        "--rx-lcore", std::to_string(placement_.far.lcore)};
    socket_ = JsonChannel::start_process(words, placement_.far.cpus, pid_);
}

SecondProcess::~SecondProcess() {
    if (!ends_within(kSecondEndPatience)) {
        kill(pid_, SIGTERM);
        if (!ends_within(kSecondEndPatience)) {
            kill(pid_, SIGKILL);
            ends_within(kSecondEndPatience);
        }
    }
}

bool SecondProcess::ends_within(std::chrono::seconds patience) const {
    const auto end = std::chrono::steady_clock::now() + patience;
    for (;;) {
        int status = 0;
        const pid_t ended = waitpid(pid_, &status, WNOHANG);
        if (ended == pid_ || (ended < 0 && errno != EINTR))
            return true;
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

}  // namespace spead::app
