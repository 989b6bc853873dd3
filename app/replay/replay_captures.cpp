// SPDX-License-Identifier: BSD-3-Clause
#include "app/replay/replay_captures.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_cycles.h>

#include "app/exit_status.hpp"
#include "app/replay/replay_run.hpp"
#include "app/run/results_file.hpp"
#include "base/error.hpp"
#include "base/file_use.hpp"
#include "base/log.hpp"
#include "base/privileges.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"
#include "capture/pcap_reader.hpp"
#include "drivers/table.hpp"
#include "observe/report.hpp"
#include "observe/report_file.hpp"
#include "port/impaired_queue.hpp"
#include "port/neighbours.hpp"
#include "process/kept_privileges.hpp"
#include "process/stop_signals.hpp"
#include "replay/replay.hpp"
#include "runtime/eal.hpp"
#include "runtime/engine.hpp"
#include "runtime/layout.hpp"
#include "runtime/numa.hpp"
#include "runtime/plan_files.hpp"
#include "spead/eal_start.hpp"
#include "wire/net.hpp"

namespace spead::app {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kReplay = "replay";
/// Limits the bytes of each file whose packets are parsed before the replay.
constexpr std::uint64_t kLook = std::uint64_t{64} << 20;

/// Counts datagrams of the IP versions, and holds an endpoint of each.
struct Versions {
    std::array<std::uint64_t, 2> datagrams{};  ///< of IPv4, of IPv6
    std::array<Endpoint, 2> first{};

    void add(const capture::PcapReader::Record& record) {
        wire::UdpView udp{};
        if (record.cut() ||
            wire::parse_udp(record.data, record.length, record.length, false, udp) != PortOutcome::stream)
            return;
        if (datagrams[udp.ipv6]++ == 0)
            first[udp.ipv6] = {udp.destination(), udp.dst_port, {}};
    }
};

/// Finds whether a pass takes time at the captures' own times. Files follow one another, or are merged.
class Pace {
  public:
    explicit Pace(bool merged) : merged_(merged) {}
    void begin_file() { begun_ = false; }
    void add(std::uint64_t time) {
        lasts_ |= begun_ ? time > highest_ : merged_ && any_ && time != first_;
        first_ = any_ ? first_ : time;
        highest_ = begun_ ? std::max(time, highest_) : time;
        any_ = begun_ = true;
    }
    /// Notes that not all packets of a file were read.
    void leave_rest() { lasts_ = true; }
    /// Returns whether there are packets, all of one time.
    bool stands() const { return any_ && !lasts_; }

  private:
    const bool merged_;
    bool lasts_ = false;
    bool any_ = false;           ///< a packet of any file was added
    bool begun_ = false;         ///< one of this file
    std::uint64_t first_ = 0;    ///< of all files
    std::uint64_t highest_ = 0;  ///< of the file
};

/// Refuses a destination to which no datagram could go: its headers would be longer or shorter.
void check_version(const Versions& found, const replay::NewDestination& to) {
    const bool six = to.address.is_v6();
    if (found.datagrams[six] == 0 && found.datagrams[!six] != 0)
        throw_usage("--to",
                    "{} is {}, and the packets of the files are {}, such as those to {}: the replay changes "
                    "addresses, and makes no headers of the other version; give a destination of theirs",
                    to_string(Endpoint{to.address, to.port, {}}), six ? "IPv6" : "IPv4",
                    six ? "IPv4" : "IPv6", to_string(found.first[!six]));
}

/// Tells the user of captures that take long to read, before the replay can begin.
class LongLook {
  public:
    void begin_file() { next_ = kLook; }
    /// Says how far the file was read, unless that was said lately.
    void at(const capture::PcapReader& reader) {
        if (reader.position() < next_)
            return;
        next_ = reader.position() + kLook;
        const Clock::time_point now = Clock::now();
        if (now < quiet_until_)
            return;
        quiet_until_ = now + kTellAgain;
        log_notice(
            LogType::app,
            "replay: looking for the longest packet of {}, {} of {} so far; give --mtu to begin at once, "
            "Ctrl-C ends",
            reader.path(), human_size(reader.position()), human_size(reader.size()));
    }

  private:
    static constexpr std::chrono::seconds kTellAgain{10};

    std::uint64_t next_ = kLook;
    Clock::time_point quiet_until_{};
};

/// Returns the largest packet; with an --mtu only that of the files' beginnings, for it is not needed.
/// Refuses files that are no captures, or that cannot go to the destination, before anything else is done.
std::uint32_t largest_frame(const replay::Options& options, bool has_mtu) {
    std::uint32_t largest = 60;
    Versions versions;
    Pace pace(options.order == replay::Loader::Order::time);
    LongLook look;
    for (const std::string& file : options.files) {
        capture::PcapReader reader(file, kReplay);
        capture::PcapReader::Record record;
        pace.begin_file();
        look.begin_file();
        std::uint64_t end = has_mtu ? std::min(reader.size(), kLook) : UINT64_MAX;
        while (reader.position() < end && reader.next(record) == capture::PcapReader::Next::record) {
            look.at(reader);
            largest = std::max(largest, record.length);
            pace.add(record.time_ns);
            if (record.at < kLook)
                versions.add(record);
            else if (largest >= std::min(reader.header().snap_length, port::frame_of(port::kMaxPayload)))
                end = 0;
        }
        if (reader.position() >= end && reader.position() < reader.size())
            pace.leave_rest();
    }
    if (options.passes != 1 && options.timing == replay::Timing::original && pace.stands())
        throw_usage("--loop",
                    "all packets of the files have one time, so each pass would follow at once, as fast as "
                    "the port takes it; give --pps or --rate");
    if (options.rules.to && options.rules.map.empty())
        check_version(versions, *options.rules.to);
    return largest;
}

port::PlannedPort planned_port(const ReplayOptions& options, const runtime::EalOptions& eal) {
    port::PortRequest request;
    request.name = "p0";
    request.device = options.port;
    request.mtu = options.mtu;
    request.rx_queues = 0;
    request.tx_queues = 1;
    const std::uint32_t largest = largest_frame(options.replay, options.mtu != 0);
    request.max_tx_packet = options.mtu != 0 ? port::payload_of_mtu(options.mtu)
                                             : std::min(largest - port::frame_of(0), port::kMaxPayload);
    request.max_rx_packet = request.max_tx_packet;
    return port::plan_ports({&request, 1}, drivers::table(), eal.devices).front();
}

/// Finds the MAC addresses of unicast destinations, which only the port's network knows.
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
    std::vector<IpAddress> addresses;
    addresses.reserve(hosts.size());
    for (const auto* host : hosts)
        addresses.push_back(host->address);
    if (!given && port.netdev().empty())
        throw_usage("--dst-mac",
                    "{} needs the MAC address of the host, or of the router towards it, and {} has no "
                    "network interface of the kernel to find it",
                    to_string(addresses.front()), port.device_name());
    const std::vector<MacAddress> macs =
        given ? std::vector<MacAddress>(hosts.size(), *given) : port::next_hop_macs(port.netdev(), addresses);
    for (std::size_t i = 0; i < hosts.size(); i++)
        hosts[i]->mac = macs[i];
}

/// Holds a replay before EAL starts.
struct PlannedReplay {
    port::PlannedPort port;
    std::uint32_t longest = 0;  ///< frame that is sent
    std::vector<unsigned> cpus;
    unsigned worker = 0;
    unsigned main = 0;
    port::ImpairedQueue::Setup impairing{};
};

PlannedReplay plan_replay(const ReplayOptions& options, const runtime::EalOptions& eal) {
    PlannedReplay plan;
    plan.port = planned_port(options, eal);
    const auto& device = plan.port.device;
    runtime::check_files({}, {&plan.port, 1});
    plan.longest =
        std::min(device.capabilities.max_tx_frame, port::rx_frame_of(plan.port.request.max_tx_packet));
    plan.cpus = runtime::allowed_cpus();
    plan.worker = options.lcore.value_or(plan.cpus.back());
    if (std::find(plan.cpus.begin(), plan.cpus.end(), plan.worker) == plan.cpus.end())
        throw_error("--lcore", "CPU {} is not one of the CPUs that this process may use: {}", plan.worker,
                    fmt::join(plan.cpus, ","));
    plan.main = plan.cpus.front() != plan.worker || plan.cpus.size() == 1 ? plan.cpus.front() : plan.cpus[1];
    plan.impairing.impairments = port::Impairments::parse(options.impair, "--impair");
    plan.impairing.longest_frame = plan.longest;
    plan.impairing.descriptors = device.tx.descriptors;
    return plan;
}

runtime::EalNeeds needs_of(const PlannedReplay& plan, const ReplayOptions& options) {
    const auto& device = plan.port.device;
    const std::size_t bytes =
        device.eal_bytes() + (std::size_t{32} << 20) +
        replay::Replay::memory_need(device.capabilities, device.tx.descriptors, plan.longest) +
        (options.impair.empty() ? 0 : port::ImpairedQueue::memory_need(plan.impairing));
    return {.memory = {{runtime::eal_node(port::this_machine(), plan.port, plan.main), bytes}},
            .lcores = fmt::format("0@{},1@{}", plan.main, plan.worker),
            .name = "dpdk-spead",
            .bus = runtime::BusNeeds::of({&plan.port, 1})};
}

stats::PortSnapshot port_snapshot(const port::Port& port, const replay::PlayerCounters& counters) {
    stats::PortSnapshot s;
    s.name = port.name();
    s.driver = port.driver_name();
    s.steering = port::name_of(port.capabilities().steering);
    s.tx_packets = counters.packets;
    s.tx_bytes = counters.bytes;
    return s;
}

/// Holds the port, the packets, and the queue that impairs them, from their opening to their end.
class OpenReplay {
  public:
    OpenReplay(const ReplayOptions& options, const PlannedReplay& plan) : options_(options) {
        port_ = port::Port::open(plan.port);
        replay::Options captures = options.replay;
        find_macs(captures.rules, *port_, options.dst_mac);
        if (options.own_source) {
            captures.rules.source_mac = port_->mac();
            captures.rules.source = port_->source_address();
            captures.rules.source6 = port_->source_address6();
        }
        replay_ = std::make_unique<replay::Replay>(
            captures, std::min(plan.longest, port_->capabilities().max_tx_frame));
        if (!options.impair.empty())
            impair(plan.impairing);
        replay_->prepare(*port_, impaired_ ? impaired_->queue() : port_->tx_queue(0),
                         static_cast<double>(rte_get_tsc_hz()));
        port_->start();
    }

    port::Port& port() { return *port_; }
    replay::Replay& replay() { return *replay_; }
    port::ImpairedQueue* impaired() { return impaired_.get(); }

    /// Ends everything that the lcore no longer has, and returns the counts; problems go to `problems`.
    stats::Snapshot end(const ReplayRun& run, std::vector<std::string>& problems) {
        stats::Snapshot last;
        last.duration_s = run.seconds();
        last.capabilities = permitted_privileges().names();
        last.replays.push_back(replay_->snapshot());
        add(last.replays.back(), run.counters());
        if (impaired_ && !run.lost()) {
            impaired_->give_up();
            last.replays.back().impair = options_.impair;
            port::tell(impaired_->counters(), last.replays.back().impaired);
        }
        last.ports.push_back(port_snapshot(*port_, run.counters()));
        if (!run.lost()) {
            port_->stop();
            last.ports.back().nic = port_->nic();
            if (const std::string problem = port_->output_problem(); !problem.empty())
                problems.push_back(problem);
            replay_->leave_port();
            port_->close();
        }
        if (const std::string failure = replay_->failure(); !failure.empty())
            problems.push_back(failure);
        for (const std::string& warning : replay_->warnings())
            log_warning(LogType::app, "{}", warning);
        return last;
    }

    void leave_to_lcore() {
        static_cast<void>(replay_.release());
        static_cast<void>(impaired_.release());
        static_cast<void>(port_.release());
    }

  private:
    void impair(port::ImpairedQueue::Setup impairing) {
        impairing.hz = static_cast<double>(rte_get_tsc_hz());
        impairing.numa = port_->socket_id();
        impaired_ = std::make_unique<port::ImpairedQueue>(impairing, kReplay);
        impaired_->set_inner(port_->tx_queue(0));
        log_warning(LogType::app, "the replay's packets are impaired on purpose: {}", options_.impair);
    }

    const ReplayOptions& options_;
    std::unique_ptr<port::Port> port_;
    std::unique_ptr<replay::Replay> replay_;
    std::unique_ptr<port::ImpairedQueue> impaired_;
};

void give_up_privileges(const PlannedReplay& plan, const ReplayOptions& options,
                        const std::string& json_path) {
    std::vector<process::PathInUse> paths = process::paths_in_use({&plan.port, 1}, {});
    process::add_written(paths, json_path);
    for (const std::string& file : options.replay.files)
        process::add_read(paths, file);
    process::give_up_privileges(plan.port.device.kept, paths);
}

Clock::duration patience_of(const std::optional<double>& lcore_timeout) {
    if (!lcore_timeout)
        return runtime::EngineHooks{}.lcore_patience;
    return *lcore_timeout > 0
               ? std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*lcore_timeout))
               : Clock::duration::max();
}

void report_replay(const stats::Snapshot& last, std::vector<std::string>& problems,
                   const CommonOptions& common) {
    if (!common.quiet)
        tell(common.json_path == "-" ? stderr : stdout, "{}", observe::report_table(last));
    write_results(common.json_path, last, problems);
    std::fflush(stdout);
    for (const std::string& problem : problems)
        tell(stderr, "dpdk-spead: {}\n", problem);
}

/// Sends all packets; EAL runs.
int send_all(const ReplayOptions& options, const PlannedReplay& plan, const CommonOptions& common,
             process::StopSignals& signals) {
    const std::vector<unsigned> workers = runtime::Eal::worker_lcores();
    if (workers.empty())
        throw_error("EAL", "replay needs a worker lcore beside the main one; add one to -l or --lcores");
    OpenReplay open(options, plan);
    give_up_privileges(plan, options, common.json_path);
    if (!common.quiet)
        tell(stderr, "{} sends {} on {}; Ctrl-C ends\n", kReplay, fmt::join(options.replay.files, " "),
             open.port().device_name());
    ReplayRun run(
        options, {workers.front(), plan.worker, plan.main == plan.worker, patience_of(options.lcore_timeout)},
        open.port(), open.replay(), open.impaired(), signals);
    run.go({plan.cpus.size() == 1 ? plan.cpus.front() : plan.main});
    signals.give_back();

    std::vector<std::string> problems = run.problems();
    const stats::Snapshot last = open.end(run, problems);
    for (const std::string& broken : stats::broken_identities(last))
        problems.push_back("counters do not add up: " + broken);
    report_replay(last, problems, common);
    const bool good = problems.empty() && !open.replay().damaged();
    if (run.lost()) {
        run.leave_to_lcore();
        open.leave_to_lcore();
    }
    return good ? kSuccess : kFailure;
}

}  // namespace

int replay(const ReplayOptions& options, const Invocation& invocation) {
    const CommonOptions& common = invocation.common;
    door::EalStart eal(runtime::EalOptions::parse(invocation.eal_args));
    std::vector<FileUse> files;
    for (const std::string& file : options.replay.files)
        files.push_back(FileUse::planned(file, FileUse::Way::read, "the replay reads", kReplay));
    files.push_back(observe::claim_report(common.json_path, "--json"));
    const PlannedReplay plan = plan_replay(options, eal.options());
    const runtime::EalArguments& arguments = eal.prepare(needs_of(plan, options));
    if (common.check) {
        tell(stdout, "EAL arguments: {}\n", fmt::join(arguments.words, " "));
        return kSuccess;
    }
    observe::check_writable(common.json_path);
    process::StopSignals signals;
    eal.start();
    for (const std::string& remark : arguments.remarks)
        log_notice(LogType::app, "{}", remark);
    return send_all(options, plan, common, signals);
}

}  // namespace spead::app
