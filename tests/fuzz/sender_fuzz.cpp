// SPDX-License-Identifier: BSD-3-Clause
// A sender's life: groups of heaps, time-outs, rates, cuts, and a port that takes part of a burst, keeps
// mbufs, stops and starts; against the decoder and the window.

#include <array>
#include <bit>
#include <string>

#include <rte_cycles.h>

#include "base/error.hpp"
#include "memory/region.hpp"
#include "tests/fuzz/script.hpp"
#include "tests/fuzz/sender_model.hpp"
#include "tests/support/eal.hpp"

namespace {

using namespace spead;
using fuzz::require;
using fuzz::Script;

/// Starts EAL once, for all inputs of the process.
class Eal {
  public:
    Eal() { require(test::initialise_eal("fuzz-sender"), "EAL starts"); }
    ~Eal() { test::clean_up_eal(); }
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;
};

std::uint64_t now = 0;  ///< the clock of submissions and polls

/// Objects that heaps are made of: each has memory of its own, half of it registered.
struct Material {
    static constexpr std::size_t kBytes = 4096;
    send::OutgoingHeap heap;
    std::span<std::byte> memory;
    std::span<std::byte> unregistered;
    bool only_control = false;
};

class Session {
  public:
    explicit Session(Script& script)
        : script_(script),
          registered_(kMaterials * Material::kBytes),
          unregistered_(kMaterials * Material::kBytes),
          config_(make_config()),
          model_(static_cast<std::uint32_t>(config_.destinations.size()), config_.max_heaps,
                 config_.timeout_ticks != 0),
          materials_(kMaterials) {
        now = 1 + script_.below(1000);
        regions_.add({registered_.data(), registered_.size(), memory::MemoryKind::host, -1});
        config_.regions = &regions_;
        port_.keep = config_.capabilities.late_free_segments;
        config_.queue = port_.queue();
        port_.take = [this](std::span<const std::uint8_t> frame) { model_.take(frame, now); };
        sender_ = std::make_unique<send::Sender>(config_);
        for (std::size_t i = 0; i < kMaterials; ++i) {
            materials_[i].memory = std::span(registered_).subspan(i * Material::kBytes, Material::kBytes);
            materials_[i].unregistered =
                std::span(unregistered_).subspan(i * Material::kBytes, Material::kBytes);
        }
    }
    ~Session() {
        port_.release();
        sender_->collect(now);
        sender_.reset();
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void run() {
        while (!script_.over()) {
            step();
            model_.check(sender_->counters(), sender_->backlog(), sender_->next_send_time() != 0);
        }
        finish();
    }

  private:
    static constexpr std::size_t kMaterials = 24;
    static constexpr double kLeastRate = 1e4;

    send::SenderConfig make_config();
    send::Pacing make_pacing();
    void step();
    void submit();
    bool make_heap(Material& material);
    void poll(std::uint64_t microseconds);
    void take_completions();
    void switch_port();
    void tell();
    void finish();
    static std::uint64_t ticks(std::uint64_t microseconds) {
        return microseconds * (rte_get_tsc_hz() / 1'000'000);
    }

    Script& script_;
    std::vector<std::byte> registered_;
    std::vector<std::byte> unregistered_;
    memory::RegionTable regions_;
    send::SenderConfig config_;
    fuzz::SenderModel model_;
    std::vector<Material> materials_;
    fuzz::FuzzPort port_;
    std::unique_ptr<send::Sender> sender_;
    std::uint64_t submitted_ = 0;
    std::uint64_t next_cnt_ = 1;  ///< of the sequence
    std::uint64_t own_cnts_ = 0;
    std::uint64_t filled_ = 0;
    bool running_ = true;
};

send::Pacing Session::make_pacing() {
    send::Pacing p;
    if (script_.chance(160)) {
        p.rate = kLeastRate * static_cast<double>(std::uint64_t{1} << script_.below(20));
    }
    p.burst_size = script_.one_of<std::uint64_t>({1, 500, 3000, 65536});
    p.burst_rate_ratio = script_.one_of({1.0, 1.05, 2.0});
    return p;
}

send::SenderConfig Session::make_config() {
    send::SenderConfig c;
    for (std::uint32_t i = script_.between(1, 3); i > 0; --i) {
        const auto number = static_cast<std::uint32_t>(c.destinations.size());
        c.destinations.push_back({Endpoint{Ipv4{fuzz::SenderModel::kFirstGroup + number}, 7148, {}}, {}});
    }
    c.source_mac = {2, 0, 0, 0, 0, 1};
    c.source_ip = Ipv4{0x0A000001};
    c.source_port = 50000;
    if (script_.chance(60)) {
        c.vlan = std::uint16_t{5};
    }
    c.max_packet_size = script_.one_of<std::uint32_t>({56, 64, 72, 100, 256, 1472, 9000});
    c.pacing = make_pacing();
    if (script_.chance(140)) {
        c.timeout_ticks = ticks(1) * (std::uint64_t{1} << script_.below(20));
    }
    c.clock = [] { return now; };
    c.max_heaps = script_.between(1, 16);
    c.zero_copy =
        script_.one_of({send::ZeroCopy::automatic, send::ZeroCopy::automatic, send::ZeroCopy::never});
    c.udp_checksum = script_.chance(40);
    c.cnt_step = script_.between(1, 3);
    c.capabilities.tx_multi_segment = c.capabilities.tx_external_buffer = script_.chance(200);
    c.capabilities.max_tx_frame = 65535;
    c.capabilities.late_free_segments = script_.chance(100) ? 31 : 0;
    c.tx_descriptors = static_cast<std::uint16_t>(script_.between(8, 64));
    return c;
}

/// Fills the heap with other items, of other memory. Returns false when the heap cannot be changed now.
bool Session::make_heap(Material& material) {
    if (material.heap.in_flight()) {
        return false;
    }
    ++filled_;
    for (const std::span<std::byte> memory : {material.memory, material.unregistered}) {
        for (std::size_t i = 0; i < memory.size(); i += 8) {
            const std::uint64_t word = (filled_ << 32 | i) * 0x9e3779b97f4a7c15U;
            std::memcpy(memory.data() + i, &word, 8);
        }
    }
    material.heap = send::OutgoingHeap(wire::Flavour(script_.one_of({32U, 40U, 48U})));
    send::OutgoingHeap& heap = material.heap;
    material.only_control = script_.chance(16);
    if (material.only_control) {
        heap.add_stop();
        return true;
    }
    // Few packets, however small they are.
    const std::uint32_t most = std::min<std::uint32_t>(Material::kBytes, config_.max_packet_size * 30) / 4;
    if (script_.chance(30)) {
        heap.add_descriptor({.id = 0x1600, .name = "n", .description = "d", .format = {{'u', 32}}});
    }
    for (std::uint32_t items = script_.below(6), at = 0; items > 0 && at + most <= Material::kBytes;
         --items) {
        const std::uint64_t id = 0x1000 + items;
        const std::uint32_t length = script_.chance(64) ? script_.below(16) : script_.below(most);
        const std::span<std::byte> memory = script_.chance(40) ? material.unregistered : material.memory;
        if (script_.chance(40)) {
            heap.add_immediate(id, length);
        } else {
            heap.add_item(id, memory.subspan(at, length), script_.chance(60));
        }
        // Next to it in memory, or not.
        at += length + (script_.chance(100) ? 8 : 0);
    }
    heap.set_repeat_pointers(script_.chance(60));
    return true;
}

void Session::submit() {
    const std::uint32_t n = script_.between(1, std::min(config_.max_heaps, 8U));
    const auto mode = script_.chance(128) ? send::Interleave::round_robin : send::Interleave::serial;
    std::vector<send::Submission> group;
    std::vector<Material*> of;
    for (std::uint32_t i = 0; i < n; ++i) {
        Material& material = materials_[script_.below(kMaterials)];
        if (!script_.chance(30) || material.heap.items() == 0) {
            make_heap(material);
        }
        send::Submission s{&material.heap};
        s.substream = script_.below(static_cast<std::uint32_t>(config_.destinations.size()));
        s.control = script_.chance(50);
        if (script_.chance(50)) {
            s.cnt = 0x1000000 + own_cnts_++;
        }
        if (script_.chance(50)) {
            s.rate = script_.one_of({0.0, kLeastRate, 1e6, 1e9});
        }
        s.user = std::bit_cast<void*>(submitted_ + i + 1);
        group.push_back(s);
        of.push_back(&material);
    }
    const bool room = group.size() <= sender_->free_heaps() && !sender_->stop_requested();
    try {
        require(sender_->submit(group, mode) == room, "heaps are taken when there is room");
    } catch (const Error&) {
        // Packets too small for the heap's items.
        return;
    }
    if (!room) {
        return;
    }
    submitted_ += n;
    const std::uint64_t deadline = config_.timeout_ticks == 0 ? 0 : now + config_.timeout_ticks;
    for (std::uint32_t i = 0; i < n; ++i) {
        std::uint64_t cnt = group[i].cnt.value_or(next_cnt_);
        if (!group[i].cnt) {
            next_cnt_ += config_.cnt_step;
        }
        model_.submit(group[i], group[i].heap->layout(config_.max_packet_size, &regions_), cnt, deadline,
                      of[i]->memory, of[i]->only_control);
        if (mode == send::Interleave::serial) {
            model_.end_group();
        }
    }
    model_.end_group();
}

void Session::poll(std::uint64_t microseconds) {
    now += ticks(microseconds);
    sender_->poll(now);
}

void Session::take_completions() {
    std::array<send::Completion, 3> some;
    while (const std::size_t n = sender_->poll_completions(some)) {
        for (std::size_t i = 0; i < n; ++i) {
            model_.complete(some[i], port_);
        }
    }
}

/// Stops the port, which gives back all that it had, or lets it run again.
void Session::switch_port() {
    running_ = !running_;
    if (!running_) {
        sender_->set_queue({});
        port_.release();
    } else if (script_.chance(128)) {
        sender_->set_queue(port_.queue());
    } else {
        sender_->set_port(port_.queue(), {}, {2, 0, 0, 0, 0, script_.byte()}, {0x0A000001});
    }
}

/// Makes a change in the sender, as control code does meanwhile.
void Session::tell() {
    switch (script_.below(6)) {
        case 0:
            sender_->set_pacing(make_pacing());
            break;
        case 1:
            sender_->set_mac(0, {1, 0, 0x5E, 0, 0, script_.byte()});
            break;
        case 2:
            sender_->set_ttl_dscp(script_.byte(), script_.byte() & 63);
            break;
        case 3: {
            const std::uint64_t taken = port_.taken;
            sender_->dummy(script_.below(70));
            require(port_.taken == taken, "dummies do not leave");
            break;
        }
        case 4:
            sender_->release();
            break;
        default:
            if (script_.chance(60)) {
                model_.cut();
                sender_->request_cut(script_.one_of({send::Cut::waiting, send::Cut::begun}));
            }
    }
}

void Session::step() {
    switch (script_.below(12)) {
        case 0:
        case 1:
        case 2:
            submit();
            break;
        case 3:
        case 4:
            for (std::uint32_t polls = script_.between(1, 6); polls > 0; --polls) {
                poll(script_.below(200));
            }
            break;
        case 5:
            poll(std::uint64_t{1} << script_.below(21));
            break;
        case 6:
            port_.takes = script_.one_of<std::uint64_t>({0, 1, 3, 10, 40, 1000});
            break;
        case 7:
            port_.takes += script_.below(64);
            port_.most_at_once = static_cast<std::uint16_t>(script_.between(1, 32));
            break;
        case 8:
            take_completions();
            break;
        case 9:
            if (script_.chance(80)) {
                switch_port();
            } else if (const std::uint64_t next = sender_->next_send_time(); next > now) {
                now = next;
                sender_->poll(now);
            }
            break;
        case 10:
            tell();
            break;
        default:
            if (script_.chance(4)) {
                model_.stop();
                sender_->request_stop();
            } else if (config_.capabilities.late_free_segments == 0) {
                port_.keep = script_.one_of<std::size_t>({0, 5, 100});
            }
    }
}

/// Lets the port take everything from now on. Then every heap completes, within so many polls.
void Session::finish() {
    port_.takes = ~std::uint64_t{0};
    port_.most_at_once = 32;
    port_.keep = config_.capabilities.late_free_segments;
    if (!running_) {
        sender_->set_queue(port_.queue());
    }
    sender_->set_pacing({});
    constexpr int kPolls = 20'000;
    for (int i = 0; i < kPolls && !sender_->idle(); ++i) {
        poll(20'000);
        take_completions();
        // A driver that frees late keeps what a sender that gave heaps up had counted on to follow.
        if (model_.gives_up()) {
            port_.release();
        }
    }
    require(sender_->idle(), "every heap is completed in time");
    take_completions();
    port_.release();
    require(sender_->mbufs_out() == 0, "every mbuf comes back");
    require(sender_->in_flight() == 0 && sender_->free_heaps() == config_.max_heaps, "nothing is in flight");
    model_.finish(sender_->counters(), sender_->backlog());
}

}  // namespace

std::vector<fuzz::Input> fuzz::seeds() {
    return random_scripts(1000, 50, 1500);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Eal eal;
    Script script({data, size});
    Session session(script);
    session.run();
    return 0;
}
