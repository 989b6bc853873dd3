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
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_pause.h>

#include "app/command_line.hpp"
#include "base/error.hpp"
#include "base/file_use.hpp"
#include "base/log.hpp"
#include "base/mailbox.hpp"
#include "base/privileges.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"
#include "base/waiting_time.hpp"
#include "capture/pcap_reader.hpp"
#include "drivers/table.hpp"
#include "memory/huge_turn.hpp"
#include "observe/report.hpp"
#include "observe/report_file.hpp"
#include "port/impaired_queue.hpp"
#include "port/neighbours.hpp"
#include "process/kept_privileges.hpp"
#include "process/stop_signals.hpp"
#include "replay/replay.hpp"
#include "runtime/consumers.hpp"
#include "runtime/eal.hpp"
#include "runtime/layout.hpp"
#include "runtime/lcore_watch.hpp"
#include "runtime/numa.hpp"
#include "runtime/plan_files.hpp"

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
constexpr std::chrono::seconds kStoppedPortPatience{2};
/// Once the replay ends, its lcore is waited for no longer than this.
constexpr Clock::duration kEndPatience = std::chrono::seconds(10);
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
    Sending(replay::Player& p, port::ImpairedQueue* i, bool shares_cpu)
        : player(p), impaired(i), yields(shares_cpu) {}

    void run() noexcept {
        thread.store(gettid(), std::memory_order_relaxed);
        const std::uint64_t per_us = rte_get_tsc_hz() / 1'000'000;
        while (!quit.load(std::memory_order_acquire)) {
            mailbox.serve();
            const std::uint64_t now = rte_rdtsc();
            const bool let_go = impaired != nullptr && impaired->poll();
            if (player.poll(now) || let_go)
                continue;
            std::uint64_t next = player.next_time();
            if (impaired != nullptr && !impaired->empty())
                next = std::min(next, impaired->next_time());
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
    port::ImpairedQueue* const impaired;  ///< null: none
    const bool yields;
    Mailbox mailbox;
    std::atomic<bool> quit{false};
    std::atomic<int> thread{0};
};

/// What the lcore has counted, and whether it waits for a packet's time.
struct Sent {
    replay::PlayerCounters counters;
    bool has_time = false;
};

/// The lcore that sends, from outside.
struct Place {
    unsigned lcore = 0;
    unsigned cpu = 0;
    bool shares_cpu = false;
    Clock::duration patience{};  ///< until it is given up
};

/// The run, between the port's start and its stop.
class Run {
  public:
    Run(const ReplayOptions& options, const Place& place, port::Port& port, replay::Replay& replay,
        port::ImpairedQueue* impaired, process::StopSignals& signals)
        : options_(options),
          place_(place),
          port_(port),
          replay_(replay),
          impaired_(impaired),
          signals_(signals),
          sending_(std::make_unique<Sending>(replay.player(), impaired, place.shares_cpu)),
          watch_(place.lcore, place.cpu) {}

    void go(const std::vector<unsigned>& control) {
        if (!wait_for_link())
            return;
        Sending& sending = *sending_;
        // What may fail comes before the lcore runs.
        begin_ = Clock::now();
        replay_.start([control] { runtime::run_on(control); });
        sending.mailbox.open();
        const int rc = rte_eal_remote_launch(
            [](void* s) {
                static_cast<Sending*>(s)->run();
                return 0;
            },
            &sending, place_.lcore);
        if (rc != 0)
            throw_error(kWhere, "lcore {} cannot be started: {}", place_.lcore, rte_strerror(-rc));
        wait_for_end();
        ending_ = true;
        replay_.stop();
        // What the lcore was asked to give up, it gives up at once.
        wait_for([this] { return replay_.player().finished(); });
        wait_for_impaired();
        sending.quit.store(true, std::memory_order_release);
        wait_for([this] { return rte_eal_get_lcore_state(place_.lcore) != RUNNING; });
        end_ = Clock::now();
        if (lost_)
            return;
        rte_eal_wait_lcore(place_.lcore);
        counters_ = replay_.player().counters();
    }

    /// The lcore has not come back: it still has the port, the replay and what it was started with.
    bool lost() const { return lost_; }
    void leave_to_lcore() { static_cast<void>(sending_.release()); }

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

    /// What is held back is sent, as far as the port takes it.
    void wait_for_impaired() {
        WaitingTime waited(std::chrono::milliseconds(2 * kTickMs));
        while (!lost_ && impaired_ != nullptr && !impaired_->empty() &&
               waited.add() <= kStoppedPortPatience) {
            impaired_->flush();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    /// Waits for the lcore to do something; false: it is lost.
    template <typename Done>
    bool wait_for(const Done& done) {
        while (!lost_ && !done()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            keep_waiting();
        }
        if (!lost_)
            heard();
        return !lost_;
    }

    void heard() {
        if (watch_.answered() == runtime::LcoreWatch::News::back)
            log_notice(LogType::app, "{}", watch_.end_sentence());
    }

    /// The lcore was asked something, and has not answered.
    void keep_waiting() {
        if (watch_.waited(sending_->thread.load(std::memory_order_relaxed)) ==
            runtime::LcoreWatch::News::silent)
            log_warning(LogType::app, "{}", watch_.sentence());
        if (watch_.silence() < (ending_ ? std::min(place_.patience, kEndPatience) : place_.patience))
            return;
        lost_ = true;
        problems_.push_back(
            fmt::format("{}; the replay ends, and what was sent since is not counted", watch_.sentence()));
    }

    /// What the lcore tells by the next tick; none: it has not answered yet.
    std::optional<Sent> look() {
        const auto take = [](replay::Player* player) {
            return Sent{player->counters(), player->next_time() > rte_rdtsc()};
        };
        using Call = LcoreCall<decltype(take), replay::Player*>;
        Mailbox& mailbox = sending_->mailbox;
        if (!mailbox.busy()) {
            std::unique_ptr<LcoreJob> job = std::make_unique<Call>(take, &replay_.player());
            static_cast<void>(mailbox.post(job));
        }
        if (!mailbox.wait(std::chrono::milliseconds(kTickMs))) {
            keep_waiting();
            return std::nullopt;
        }
        heard();
        return static_cast<Call&>(*mailbox.take()).take_result();
    }

    void wait_for_end() {
        std::uint64_t last = 0;
        WaitingTime unmoved(std::chrono::milliseconds(2 * kTickMs));
        while (!replay_.finished() && !interrupted() && !lost_) {
            port_.poll_link();
            if (options_.duration > 0 &&
                std::chrono::duration<double>(Clock::now() - begin_).count() >= options_.duration)
                return;
            if (const std::string netdev = port_.missing_netdev(); !netdev.empty()) {
                problems_.push_back(fmt::format("its network interface {} has gone", netdev));
                return;
            }
            const std::optional<Sent> sent = look();
            if (!sent)
                continue;
            counters_ = sent->counters;
            const std::uint64_t now = counters_.packets + counters_.starved;
            if (now != last || sent->has_time || !port_.link_up() || !replay_.reading_done()) {
                last = now;
                unmoved.restart();
            } else if (unmoved.add() > kStoppedPortPatience) {
                problems_.push_back(fmt::format("port {} takes no more packets", port_.device_name()));
                return;
            }
        }
    }

    const ReplayOptions& options_;
    const Place place_;
    port::Port& port_;
    replay::Replay& replay_;
    port::ImpairedQueue* impaired_;
    process::StopSignals& signals_;
    std::unique_ptr<Sending> sending_;
    runtime::LcoreWatch watch_;
    bool ending_ = false;
    bool lost_ = false;
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
           const std::string& json_path, bool quiet, bool check, Clock::duration lcore_patience) {
    const runtime::EalOptions eal_options = runtime::EalOptions::parse(eal_words);
    std::vector<FileUse> files;
    for (const std::string& file : options.replay.files)
        files.push_back(FileUse::planned(file, FileUse::Way::read, "the replay reads", kWhere));
    files.push_back(observe::claim_report(json_path, "--json"));
    const port::PlannedPort planned = planned_port(options, eal_options);
    runtime::check_files({}, {&planned, 1});
    const std::uint32_t longest =
        std::min(planned.device.capabilities.max_tx_frame, port::rx_frame_of(planned.request.max_tx_packet));
    const std::vector<unsigned> cpus = runtime::allowed_cpus();
    const unsigned worker = options.lcore.value_or(cpus.back());
    if (std::find(cpus.begin(), cpus.end(), worker) == cpus.end())
        throw_error("--lcore", "CPU {} is none of those that this process may use: {}", worker,
                    fmt::join(cpus, ","));
    const unsigned main = cpus.front() != worker || cpus.size() == 1 ? cpus.front() : cpus[1];
    port::ImpairedQueue::Setup impairing;
    impairing.impairments = port::Impairments::parse(options.impair, "--impair");
    impairing.longest_frame = longest;
    impairing.descriptors = planned.device.tx.descriptors;
    const std::size_t bytes =
        planned.device.eal_bytes() + (std::size_t{32} << 20) +
        replay::Replay::memory_need(planned.device.capabilities, planned.device.tx.descriptors, longest) +
        (options.impair.empty() ? 0 : port::ImpairedQueue::memory_need(impairing));
    std::optional<memory::HugePageTurn> turn(std::in_place);
    const runtime::EalArguments arguments = runtime::eal_arguments(
        eal_options, {.memory = {{runtime::eal_node(port::this_host(), planned, main), bytes}},
                      .lcores = fmt::format("0@{},1@{}", main, worker),
                      .name = "dpdk-spead",
                      .bus = runtime::BusNeeds::of({&planned, 1})});
    if (check) {
        tell(stdout, "EAL arguments: {}\n", fmt::join(arguments.words, " "));
        return kSuccess;
    }
    observe::check_writable(json_path);
    process::StopSignals signals;
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
    auto replayed =
        std::make_unique<replay::Replay>(captures, std::min(longest, port->capabilities().max_tx_frame));
    replay::Replay& replay = *replayed;
    std::unique_ptr<port::ImpairedQueue> impaired;
    if (!options.impair.empty()) {
        impairing.hz = static_cast<double>(rte_get_tsc_hz());
        impairing.numa = port->socket_id();
        impaired = std::make_unique<port::ImpairedQueue>(impairing, kWhere);
        impaired->set_inner(port->tx_queue(0));
        log_warning(LogType::app, "what the replay sends is impaired on purpose: {}", options.impair);
    }
    replay.prepare(*port, impaired ? impaired->queue() : port->tx_queue(0),
                   static_cast<double>(rte_get_tsc_hz()));
    port->start();
    std::vector<process::PathInUse> paths = process::paths_in_use({&planned, 1}, {});
    process::add_written(paths, json_path);
    for (const std::string& file : captures.files)
        process::add_read(paths, file);
    process::give_up_privileges(planned.device.kept, paths);
    if (!quiet)
        tell(stderr, "{} sends {} on {}; Ctrl-C ends\n", kWhere, fmt::join(captures.files, " "),
             port->device_name());
    Run run(options, {workers.front(), worker, main == worker, lcore_patience}, *port, replay, impaired.get(),
            signals);
    run.go(cpus.size() == 1 ? cpus : std::vector<unsigned>{main});
    signals.give_back();

    std::vector<std::string> problems = run.problems();
    stats::Snapshot last;
    last.duration_s = run.seconds();
    last.capabilities = permitted_privileges().names();
    last.replays.push_back(replay.snapshot());
    add(last.replays.back(), run.counters());
    if (impaired && !run.lost()) {
        impaired->give_up();
        last.replays.back().impair = options.impair;
        port::tell(impaired->counters(), last.replays.back().impaired);
    }
    last.ports.push_back(port_snapshot(*port, run.counters()));
    if (!run.lost()) {
        port->stop();
        last.ports.back().nic = port->nic();
        if (const std::string problem = port->output_problem(); !problem.empty())
            problems.push_back(problem);
        replay.leave_port();
        port->close();
    }
    if (const std::string failure = replay.failure(); !failure.empty())
        problems.push_back(failure);
    for (const std::string& warning : replay.warnings())
        log_warning(LogType::app, "{}", warning);
    for (const std::string& broken : stats::broken_identities(last))
        problems.push_back("counters do not add up: " + broken);

    if (!quiet)
        tell(json_path == "-" ? stderr : stdout, "{}", observe::report_table(last));
    if (!json_path.empty())
        observe::write_file(json_path, observe::report_json(last));
    std::fflush(stdout);
    for (const std::string& problem : problems)
        tell(stderr, "dpdk-spead: {}\n", problem);
    const bool good = problems.empty() && !replay.damaged();
    if (run.lost()) {
        run.leave_to_lcore();
        static_cast<void>(replayed.release());
        static_cast<void>(impaired.release());
        static_cast<void>(port.release());
    }
    return good ? kSuccess : kFailure;
}

}  // namespace spead::app
