// SPDX-License-Identifier: BSD-3-Clause
#include "app/replay.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <time.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_pause.h>

#include "app/command_line.hpp"
#include "app/report.hpp"
#include "app/report_file.hpp"
#include "app/stop_signals.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mailbox.hpp"
#include "base/units.hpp"
#include "capture/pcap_reader.hpp"
#include "drivers/table.hpp"
#include "memory/huge_turn.hpp"
#include "port/neighbours.hpp"
#include "replay/replay.hpp"
#include "runtime/consumers.hpp"
#include "runtime/eal.hpp"
#include "runtime/layout.hpp"
#include "runtime/numa.hpp"

namespace spead::app {

namespace {

using Clock = std::chrono::steady_clock;

const char* const kWhere = "replay";
/// So much of each file is looked at for its largest packet before anything is made.
constexpr std::uint64_t kLook = std::uint64_t{64} << 20;
constexpr int kTickMs = 20;
/// A link that is slow to come up is given so long; a peer (memif) may take as long as it likes.
constexpr std::chrono::seconds kLinkPatience{5};
/// A port that takes nothing for so long at the end is given up.
constexpr std::chrono::seconds kPortPatience{2};
/// An lcore sleeps rather than spins when its next packet is further away than this.
constexpr std::uint64_t kSleepAbove = 200;  // us

/// Also refuses files that are no captures, before anything else is done.
std::uint32_t largest_frame(const std::vector<std::string>& files) {
    std::uint32_t largest = 60;
    for (const std::string& file : files) {
        capture::PcapReader reader(file, kWhere);
        capture::PcapReader::Record record;
        while (reader.position() < kLook && reader.next(record) == capture::PcapReader::Next::record)
            largest = std::max(largest, record.length);
    }
    return largest;
}

port::PlannedPort planned_port(const ReplayOptions& options, const runtime::EalOptions& eal) {
    port::PortRequest request;
    request.name = "p0";
    request.device = options.port;
    request.mtu = options.mtu;
    request.rx_queues = 0;
    request.tx_queues = 1;
    request.max_tx_packet =
        options.mtu != 0
            ? port::payload_of_mtu(options.mtu)
            : std::min(largest_frame(options.replay.files) - port::frame_of(0), port::kMaxPayload);
    request.max_rx_packet = request.max_tx_packet;
    return port::plan_ports({&request, 1}, drivers::table(), eal.devices).front();
}

/// The MAC addresses of unicast destinations, which only the port's network knows.
void find_macs(replay::RewriteRules& rules, const port::Port& port, const std::optional<MacAddress>& given) {
    std::vector<replay::NewDestination*> hosts;
    const auto look_at = [&](replay::NewDestination& d) {
        if (!d.address.is_multicast())
            hosts.push_back(&d);
    };
    if (rules.to)
        look_at(*rules.to);
    for (auto& [old, to] : rules.map)
        look_at(to);
    if (hosts.empty())
        return;
    std::vector<Ipv4> addresses;
    for (const auto* host : hosts)
        addresses.push_back(host->address);
    if (!given && port.netdev().empty())
        throw_usage(
            "--dst-mac",
            "{} needs the MAC address of the host, or of the router towards it, and {} has no network "
            "interface of the kernel that could find it",
            to_string(addresses.front()), port.device_name());
    const std::vector<MacAddress> macs =
        given ? std::vector<MacAddress>(hosts.size(), *given) : port::next_hop_macs(port.netdev(), addresses);
    for (std::size_t i = 0; i < hosts.size(); i++)
        hosts[i]->mac = macs[i];
}

/// The lcore that sends.
struct Sending {
    explicit Sending(replay::Player& p, bool shares_cpu) : player(p), yields(shares_cpu) {}

    void run() noexcept {
        const std::uint64_t per_us = rte_get_tsc_hz() / 1'000'000;
        while (!quit.load(std::memory_order_acquire)) {
            mailbox.serve();
            const std::uint64_t now = rte_rdtsc();
            if (player.poll(now))
                continue;
            const std::uint64_t next = player.next_time();
            if (next > now + kSleepAbove * per_us) {
                const std::uint64_t us = std::min<std::uint64_t>((next - now) / per_us / 2, 1000);
                const timespec nap{0, static_cast<long>(us * 1000)};
                nanosleep(&nap, nullptr);
            } else if (yields) {
                sched_yield();
            } else {
                rte_pause();
            }
        }
        mailbox.close();
    }

    replay::Player& player;
    const bool yields;
    Mailbox mailbox;
    std::atomic<bool> quit{false};
};

/// The run, between the port's start and its stop.
class Run {
  public:
    Run(const ReplayOptions& options, port::Port& port, replay::Replay& replay, StopSignals& signals)
        : options_(options), port_(port), replay_(replay), signals_(signals) {}

    void go(unsigned lcore, bool shares_cpu, const std::vector<unsigned>& control) {
        if (!wait_for_link())
            return;
        Sending sending(replay_.player(), shares_cpu);
        sending.mailbox.open();
        const int rc = rte_eal_remote_launch(
            [](void* s) {
                static_cast<Sending*>(s)->run();
                return 0;
            },
            &sending, lcore);
        if (rc != 0)
            throw_error(kWhere, "lcore {} cannot be started: {}", lcore, rte_strerror(-rc));
        begin_ = Clock::now();
        replay_.start([control] { runtime::run_on(control); });
        wait_for_end(sending);
        replay_.stop();
        // What the lcore was asked to give up, it gives up at once.
        while (!replay_.player().finished())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        sending.quit.store(true, std::memory_order_release);
        rte_eal_wait_lcore(lcore);
        counters_ = replay_.player().counters();
        end_ = Clock::now();
    }

    double seconds() const { return std::chrono::duration<double>(end_ - begin_).count(); }
    const replay::PlayerCounters& counters() const { return counters_; }
    const std::vector<std::string>& problems() const { return problems_; }

  private:
    bool interrupted() {
        pollfd p{signals_.fd(), POLLIN, 0};
        return poll(&p, 1, kTickMs) > 0;
    }

    bool wait_for_link() {
        const Clock::time_point since = Clock::now();
        bool told = false;
        while (!port_.poll_link()) {
            const bool peer = port_.capabilities().needs_peer;
            if (!told)
                log_notice(LogType::app, "{}: {}; waiting", port_.device_name(),
                           peer ? "nobody is at the other end" : "its link is down");
            told = true;
            if (interrupted())
                return false;
            if (!peer && Clock::now() - since > kLinkPatience)
                break;
        }
        return true;
    }

    void wait_for_end(Sending& sending) {
        std::uint64_t last = 0;
        Clock::time_point moved = Clock::now();
        while (!replay_.finished() && !interrupted()) {
            port_.poll_link();
            if (options_.duration > 0 &&
                std::chrono::duration<double>(Clock::now() - begin_).count() >= options_.duration)
                return;
            if (const std::string netdev = port_.missing_netdev(); !netdev.empty()) {
                problems_.push_back(fmt::format("its network interface {} has gone", netdev));
                return;
            }
            std::uint64_t now = 0;
            bool has_time = false;
            sending.mailbox.call([&] {
                now = sending.player.counters().packets + sending.player.counters().starved;
                has_time = sending.player.next_time() > rte_rdtsc();
            });
            if (now != last || has_time || !port_.link_up() || !replay_.reading_done()) {
                last = now;
                moved = Clock::now();
            } else if (Clock::now() - moved > kPortPatience) {
                problems_.push_back(fmt::format("port {} takes no more packets", port_.device_name()));
                return;
            }
        }
    }

    const ReplayOptions& options_;
    port::Port& port_;
    replay::Replay& replay_;
    StopSignals& signals_;
    Clock::time_point begin_{};
    Clock::time_point end_{};
    replay::PlayerCounters counters_;
    std::vector<std::string> problems_;
};

stats::PortSnapshot port_snapshot(const port::Port& port, const replay::PlayerCounters& counters) {
    stats::PortSnapshot s;
    s.name = port.name();
    s.driver = port.driver_name();
    s.steering = port::name_of(port.capabilities().steering);
    s.tx_packets = counters.packets;
    s.tx_bytes = counters.bytes;
    return s;
}

}  // namespace

int replay(const ReplayOptions& options, const std::vector<std::string>& eal_words,
           const std::string& json_path, bool quiet, bool check) {
    const runtime::EalOptions eal_options = runtime::EalOptions::parse(eal_words);
    const port::PlannedPort planned = planned_port(options, eal_options);
    const std::uint32_t longest =
        std::min(planned.device.capabilities.max_tx_frame, port::rx_frame_of(planned.request.max_tx_packet));
    const std::vector<unsigned> cpus = runtime::allowed_cpus();
    const unsigned worker = options.lcore.value_or(cpus.back());
    if (std::find(cpus.begin(), cpus.end(), worker) == cpus.end())
        throw_usage("--lcore", "CPU {} is none of those that this process may use: {}", worker,
                    fmt::join(cpus, ","));
    const unsigned main = cpus.front() != worker || cpus.size() == 1 ? cpus.front() : cpus[1];
    const std::size_t bytes =
        planned.device.eal_bytes() + (std::size_t{32} << 20) +
        replay::Replay::memory_need(planned.device.capabilities, planned.device.tx.descriptors, longest);
    std::optional<memory::HugePageTurn> turn(std::in_place);
    const runtime::EalArguments arguments = runtime::eal_arguments(
        eal_options, {.memory = {{runtime::eal_node(port::this_host(), planned, main), bytes}},
                      .lcores = fmt::format("0@{},1@{}", main, worker),
                      .name = "dpdk-spead",
                      .bus = runtime::BusNeeds::of({&planned, 1})});
    if (check) {
        fmt::print("EAL arguments: {}\n", fmt::join(arguments.words, " "));
        return kSuccess;
    }
    check_writable(json_path);
    StopSignals signals;
    const runtime::Eal eal(arguments.words);
    turn.reset();
    for (const std::string& remark : arguments.remarks)
        log_notice(LogType::app, "{}", remark);
    const std::vector<unsigned> workers = runtime::Eal::worker_lcores();
    if (workers.empty())
        throw_error("EAL", "replay needs a worker lcore beside the main one; add one to -l or --lcores");

    std::unique_ptr<port::Port> port = port::Port::open(planned);
    replay::Options captures = options.replay;
    find_macs(captures.rules, *port, options.dst_mac);
    if (options.own_source) {
        captures.rules.source_mac = port->mac();
        captures.rules.source = port->source_address();
    }
    replay::Replay replay(captures, std::min(longest, port->capabilities().max_tx_frame));
    replay.prepare(*port, 0, static_cast<double>(rte_get_tsc_hz()));
    port->start();
    if (!quiet)
        fmt::print(stderr, "{} sends {} on {}; Ctrl-C ends\n", kWhere, fmt::join(captures.files, " "),
                   port->device_name());
    Run run(options, *port, replay, signals);
    run.go(workers.front(), main == worker, cpus.size() == 1 ? cpus : std::vector<unsigned>{main});
    signals.give_back();

    std::vector<std::string> problems = run.problems();
    stats::Snapshot last;
    last.duration_s = run.seconds();
    last.replays.push_back(replay.snapshot());
    add(last.replays.back(), run.counters());
    last.ports.push_back(port_snapshot(*port, run.counters()));
    port->stop();
    last.ports.back().nic = port->nic();
    if (const std::string problem = port->output_problem(); !problem.empty())
        problems.push_back(problem);
    replay.leave_port();
    port->close();
    if (const std::string failure = replay.failure(); !failure.empty())
        problems.push_back(failure);
    for (const std::string& warning : replay.warnings())
        log_warning(LogType::app, "{}", warning);
    for (const std::string& broken : stats::broken_identities(last))
        problems.push_back("counters do not add up: " + broken);

    if (!quiet)
        fmt::print(json_path == "-" ? stderr : stdout, "{}", report_table(last));
    if (!json_path.empty())
        write_file(json_path, report_json(last));
    std::fflush(stdout);
    for (const std::string& problem : problems)
        fmt::print(stderr, "dpdk-spead: {}\n", problem);
    return problems.empty() && !replay.damaged() ? kSuccess : kFailure;
}

}  // namespace spead::app
