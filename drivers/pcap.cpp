// SPDX-License-Identifier: BSD-3-Clause
/// Drives net_pcap: packets out of and into capture files, or by libpcap on a live interface.
///
/// Facts (drivers/net/pcap of DPDK 22.11): one queue per rx_pcap or tx_pcap; only rx given means transmit
/// queues that drop, only tx given means receive queues that never deliver. The PMD does not report the end
/// of a file, so its records are counted here. A record without a free mbuf is lost; Port asks only for as
/// many as the pool can hold. Records above 65535 bytes become inconsistent mbufs. Start reads the file from
/// its beginning and writes the output anew. The file is opened here, and the PMD gets the descriptor's name
/// below /proc, so that it truncates no other file than the checked one. Chains are written whole up to 16128
/// bytes, a single segment at any size. A full disk is not noticed: every packet counts as sent. No offload
/// is reported.
#include <algorithm>
#include <bit>
#include <fcntl.h>
#include <filesystem>
#include <linux/capability.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "base/counted.hpp"
#include "base/file_use.hpp"
#include "base/open_output.hpp"
#include "drivers/common.hpp"
#include "drivers/interface.hpp"
#include "drivers/pcap_file.hpp"
#include "drivers/table.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint32_t kMaxChainFrame = 16128;  // RTE_ETHER_MAX_JUMBO_FRAME_LEN
constexpr std::uint32_t kMaxRecord = 65535;
constexpr std::size_t kMaxQueues = 16;

std::optional<struct stat> facts_of(const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 ? std::optional{facts} : std::nullopt;
}

/// Holds the device string's streams: the source or destination of each queue.
struct Streams {
    std::vector<std::string> rx_files;
    std::vector<std::string> rx_interfaces;
    std::vector<std::string> tx_files;
    std::vector<std::string> tx_interfaces;
    bool both = false;  ///< one interface for both directions (iface=)

    std::size_t rx() const { return rx_files.size() + rx_interfaces.size(); }
    std::size_t tx() const { return tx_files.size() + tx_interfaces.size(); }
    bool live() const { return !rx_interfaces.empty() || !tx_interfaces.empty(); }
};

Streams streams_of(const port::DeviceString& device, const std::string& where) {
    Streams s;
    s.rx_files = device.all("rx_pcap");
    s.rx_interfaces = device.all("rx_iface");
    for (auto& name : device.all("rx_iface_in")) {
        s.rx_interfaces.push_back(std::move(name));
    }
    s.tx_files = device.all("tx_pcap");
    s.tx_interfaces = device.all("tx_iface");
    const auto both = device.find("iface");
    if (!both && s.rx() == 0 && s.tx() == 0) {
        throw_usage(
            where, "{} needs rx_pcap=FILE to receive or tx_pcap=FILE to send, for example {},rx_pcap=in.pcap",
            device.name(), device.name());
    }
    // Combinations that the PMD would silently ignore.
    if ((both && s.rx() + s.tx() != 0) || (!s.rx_files.empty() && !s.rx_interfaces.empty()) ||
        (!s.tx_files.empty() && !s.tx_interfaces.empty())) {
        throw_usage(
            where,
            "{} reads and writes either files (rx_pcap, tx_pcap) or interfaces (rx_iface, tx_iface, iface)",
            device.name());
    }
    if (both) {
        s.both = true;
        s.rx_interfaces = {*both};
        s.tx_interfaces = {*both};
    }
    if (std::max(s.rx(), s.tx()) > kMaxQueues) {
        throw_usage(where, "{} has at most {} queues", device.name(), kMaxQueues);
    }
    return s;
}

void check_output(const std::string& path, const std::string& where) {
    if (path == "-") {
        throw_usage(where, "tx_pcap=- is not supported; name a file");
    }
    if (const auto facts = facts_of(path)) {
        if (S_ISDIR(facts->st_mode)) {
            throw_error(where, "cannot write the capture file {}: it is a directory", path);
        }
        // Opening a pipe would wait for its reader, and an lcore for the reader to read.
        if (!S_ISREG(facts->st_mode)) {
            throw_error(where,
                        "cannot write the capture file {}: it is not a regular file; name one, or a file "
                        "that does not exist yet",
                        path);
        }
        if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
            throw_error(where, "cannot write the capture file {}: no permission", path);
        }
        if (const std::string reason = why_not_output(path); !reason.empty()) {
            throw_error(where, "cannot write the capture file {}: {}", path, reason);
        }
        return;
    }
    const auto parent = std::filesystem::path(path).parent_path();
    const std::string directory = parent.empty() ? "." : parent.string();
    if (const std::string reason = why_not_output(path); !reason.empty()) {
        throw_error(where, "cannot write the capture file {}: {}", path, reason);
    }
    if (const auto facts = facts_of(directory); !facts || !S_ISDIR(facts->st_mode)) {
        throw_error(where, "cannot write the capture file {}: there is no directory {}", path, directory);
    }
    if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
        throw_error(where, "cannot write the capture file {}: the directory {} is not writable", path,
                    directory);
    }
}

port::SourceFile read_source(const std::string& path, const std::string& where,
                             std::vector<std::string>& remarks) {
    const PcapSummary summary = read_pcap_summary(path, where);
    if (summary.largest_packet > kMaxRecord) {
        throw_error(where,
                    "record {} of {} has {} bytes, and net_pcap delivers at most {}; cut longer ones with "
                    "`editcap -s {} {} OUT.pcap`",
                    summary.largest_at, path, summary.largest_packet, kMaxRecord, kMaxRecord, path);
    }
    if (summary.truncated) {
        remarks.push_back(
            fmt::format("{}: {} is {} in record {} at byte {}: the {} before it will be replayed", where,
                        path, summary.damaged ? "damaged" : "truncated", summary.packets + 1,
                        summary.truncated_at, counted(summary.packets, "whole records")));
    } else if (summary.packets == 0) {
        remarks.push_back(fmt::format("{}: {} holds no packets", where, path));
    }
    if (summary.cut_packets > 0) {
        remarks.push_back(
            fmt::format("{}: {} of the {} of {} {} less than was on the wire (snap length), the "
                        "first is record {}; "
                        "such packets will count as malformed",
                        where, summary.cut_packets, counted(summary.packets, "records"), path,
                        word_for(summary.cut_packets, "holds", "hold"), summary.first_cut));
    }
    return {path, summary.packets, summary.largest_packet, summary.truncated};
}

class Pcap final : public port::Driver {
  public:
    std::string_view name() const override { return "net_pcap"; }
    std::string_view alias() const override { return "eth_pcap"; }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.tx_multi_segment = true;
        c.tx_external_buffer = true;
        c.lossless = true;
        c.finite = true;
        c.splitting = port::Splitting::software;
        c.rx_timestamps = port::RxTimestamps::microseconds;
        c.max_rx_frame = kMaxRecord;
        c.max_tx_frame = kMaxChainFrame;
        return c;
    }

    port::PreparedDevice plan(const port::PortRequest& request) const override;
    void apply(port::PreparedDevice& plan) const override;

    std::string output_problem(const port::PreparedDevice& device, std::uint16_t queue, std::uint64_t packets,
                               std::uint64_t bytes) const override {
        // The PMD flushes the file's header together with the first packets.
        if (packets == 0 || queue >= device.outputs.size()) {
            return {};
        }
        const std::string& path = device.outputs[queue];
        const auto facts = facts_of(path);
        if (!facts) {
            return fmt::format("the capture file {} has disappeared while it was written", path);
        }
        if (!S_ISREG(facts->st_mode)) {
            return {};
        }
        const std::uint64_t expected = kPcapHeader + packets * kPcapRecordHeader + bytes;
        const auto size = static_cast<std::uint64_t>(facts->st_size);
        if (size >= expected) {
            return {};
        }
        return fmt::format(
            "the capture file {} holds only {} of the {} bytes ({}) written to it; is the file "
            "system full?",
            path, size, expected, counted(packets, "packets"));
    }

  private:
    static void plan_interfaces(const Streams& streams, const std::string& where, port::PreparedDevice& plan);
    static void plan_outputs(const Streams& streams, const port::PortRequest& request,
                             const std::string& device, port::PreparedDevice& plan);
    static void plan_sources(const Streams& streams, const port::PortRequest& request, bool infinite,
                             port::PreparedDevice& plan);
};

void Pcap::plan_interfaces(const Streams& streams, const std::string& where, port::PreparedDevice& plan) {
    if (!streams.live()) {
        return;
    }
    check_packet_socket(plan.name, where);
    plan.kept = {CAP_NET_RAW, CAP_NET_ADMIN};
    plan.capabilities.lossless = false;
    // Its packets would be another machine's, and no test's.
    plan.capabilities.splitting = port::Splitting::none;
    for (const auto* list : {&streams.rx_interfaces, &streams.tx_interfaces}) {
        for (const auto& interface : *list) {
            usable_interface(interface, where);
        }
    }
    const auto& first = streams.rx_interfaces.empty() ? streams.tx_interfaces : streams.rx_interfaces;
    plan.netdev = first.front();
    if (!streams.rx_interfaces.empty()) {
        plan.capabilities.membership = port::Membership::kernel_socket;
    }
}

void Pcap::plan_outputs(const Streams& streams, const port::PortRequest& request, const std::string& device,
                        port::PreparedDevice& plan) {
    const auto where = port::where(request);
    const std::size_t queues = streams.tx() != 0 ? streams.tx() : streams.rx();
    if (request.tx_queues > queues) {
        throw_usage(where,
                    "{} transmit queues need {} tx_pcap files, and {} names {}; name one file for each queue",
                    request.tx_queues, request.tx_queues, device, queues);
    }
    if (tx_frame(request) > kMaxChainFrame) {
        throw_usage(where,
                    "frames of {} bytes ({} of UDP payload) are too large: net_pcap writes frames of at most "
                    "{} bytes",
                    tx_frame(request), request.named(request.max_tx_packet), kMaxChainFrame);
    }
    for (std::size_t i = 0; i < streams.tx_files.size(); ++i) {
        check_output(streams.tx_files[i], where);
        const auto clashes = [&](const std::string& other) { return same_file(streams.tx_files[i], other); };
        if (std::ranges::any_of(streams.rx_files, clashes)) {
            throw_usage(where, "{} is both read and written; name another tx_pcap", streams.tx_files[i]);
        }
        if (std::any_of(streams.tx_files.begin(), streams.tx_files.begin() + static_cast<std::ptrdiff_t>(i),
                        clashes)) {
            throw_usage(where, "{} is named twice; every transmit queue writes its own file",
                        streams.tx_files[i]);
        }
    }
    if (request.tx_queues > 0 && streams.tx() == 0) {
        plan.remarks.push_back(fmt::format("{}: {} has no tx_pcap: sent packets are dropped", where, device));
    }
    plan.outputs = streams.tx_files;
    plan.inputs = streams.rx_files;
}

void Pcap::plan_sources(const Streams& streams, const port::PortRequest& request, bool infinite,
                        port::PreparedDevice& plan) {
    const auto where = port::where(request);
    const std::uint32_t frame = port::rx_frame_of(request.max_rx_packet);
    if (request.rx_queues == 0) {
        plan.capabilities.finite = false;
        return;
    }
    const std::size_t queues = streams.rx() != 0 ? streams.rx() : streams.tx();
    if (request.rx_queues > queues) {
        throw_usage(where,
                    "{} receive queues need {} rx_pcap files, and {} names {}; name one file for each queue",
                    request.rx_queues, request.rx_queues, plan.name, queues);
    }
    // All files are read, also when fewer receive queues were asked for.
    plan.rx_queues = static_cast<std::uint16_t>(queues);
    if (streams.rx_files.empty()) {
        plan.capabilities.finite = false;
        if (streams.rx() == 0) {
            plan.remarks.push_back(
                fmt::format("{}: {} has no rx_pcap: nothing is received from it", where, plan.name));
        }
        const std::uint32_t room = port::data_room_of(frame);
        plan.rx = port::queue_sizes(512, port::copying_rx_mbufs(port::segments_of(frame, room), kPoolCache),
                                    room, kPoolCache);
        return;
    }
    std::uint32_t largest = 64;
    std::uint64_t most_packets = 0;
    std::vector<std::uint64_t> packets_of_pool(request.rx_queues);
    for (std::size_t i = 0; i < streams.rx_files.size(); ++i) {
        plan.sources.push_back(read_source(streams.rx_files[i], where, plan.remarks));
        largest = std::max(largest, plan.sources.back().largest_packet);
        auto& sum = packets_of_pool[i % request.rx_queues];
        sum += plan.sources.back().packets;
        most_packets = std::max(most_packets, sum);
        if (infinite && plan.sources.back().packets == 0) {
            throw_error(where,
                        "{} holds no packets, so infinite_rx=1 has nothing to repeat; give another file",
                        streams.rx_files[i]);
        }
    }
    if (!infinite) {
        const std::uint32_t room = port::data_room_of(std::min(largest, frame));
        // No per-lcore cache: Port asks the pool how much it holds before every burst.
        plan.rx =
            port::queue_sizes(512, port::copying_rx_mbufs(port::segments_of(largest, room), 0), room, 0);
        return;
    }
    plan.capabilities.finite = false;
    const std::uint32_t room = port::data_room_of(largest);
    if (port::segments_of(largest, room) > 1 || most_packets > (1U << 24)) {
        throw_error(where,
                    "infinite_rx=1 keeps every packet in one mbuf: {} packets of up to {} bytes do not fit",
                    most_packets, largest);
    }
    // The PMD keeps all packets in mbufs of the pool, and copies them into fresh ones.
    plan.rx = port::queue_sizes(
        512, static_cast<std::uint32_t>(most_packets) + port::copying_rx_mbufs(1, kPoolCache), room,
        kPoolCache);
    plan.device_bytes += streams.rx_files.size() * (std::bit_ceil(most_packets + 1) * 8 + 1024);
    plan.sources.clear();
}

port::PreparedDevice Pcap::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    const auto device = port::DeviceString::parse(request.device, where);
    device.check_keys(
        {"rx_pcap", "tx_pcap", "rx_iface", "rx_iface_in", "tx_iface", "iface", "phy_mac", "infinite_rx"},
        {"rx_pcap", "tx_pcap", "rx_iface", "rx_iface_in", "tx_iface"});
    check_mtu(request);
    const bool infinite = device.number("infinite_rx", 0, 1).value_or(0) != 0;
    const Streams streams = streams_of(device, where);
    auto plan = start_plan(*this, request, device);
    plan_interfaces(streams, where, plan);
    plan_outputs(streams, request, device.name(), plan);
    plan_sources(streams, request, infinite, plan);
    count_pools(plan, request);
    plan.devargs = device.text();
    plan.tx = copying_tx(request);
    return plan;
}

/// Holds a port's files while it is open.
struct OpenFiles {
    std::vector<FileDescriptor> descriptors;
    std::vector<FileUse> uses;
};

/// Returns the device string with these files instead.
std::string with_outputs(const port::DeviceString& device, const std::vector<std::string>& names) {
    std::string text = device.name();
    auto next = names.begin();
    for (const auto& p : device.parameters()) {
        text += fmt::format(",{}={}", p.key, p.key == "tx_pcap" ? *next++ : p.value);
    }
    return text;
}

void Pcap::apply(port::PreparedDevice& plan) const {
    const std::string where = plan.name;
    const auto files = std::make_shared<OpenFiles>();
    for (const std::string& path : plan.inputs) {
        FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (file)
            files->uses.emplace_back(file.get(), path, FileUse::Way::read, where + " reads", where);
        files->descriptors.push_back(std::move(file));
    }
    std::vector<std::string> names;
    for (const std::string& path : plan.outputs) {
        OpenedOutput opened = open_output(path, O_RDWR | O_NONBLOCK);
        if (!opened.file) {
            throw_error(where, "cannot write the capture file {}: {}", path, opened.reason);
        }
        files->uses.emplace_back(opened.file.get(), path, FileUse::Way::write, where + " writes", where);
        names.push_back(fmt::format("/proc/self/fd/{}", opened.file.get()));
        files->descriptors.push_back(std::move(opened.file));
    }
    plan.held = files;
    if (::access("/proc/self/fd", X_OK) == 0) {
        plan.devargs = with_outputs(port::DeviceString::parse(plan.devargs, where), names);
    }
}

}  // namespace

const port::Driver& pcap() {
    static const auto& driver = *new const Pcap;  // threads may use it while the process ends
    return driver;
}

}  // namespace spead::drivers
