// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_distribute.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <vector>

#include <nlohmann/json.hpp>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "app/bench/assemble_point.hpp"
#include "app/bench/median.hpp"
#include "app/bench/prebuilt_queue.hpp"
#include "app/exit_status.hpp"
#include "base/tell.hpp"
#include "observe/report_file.hpp"
#include "port/sizes.hpp"
#include "recv/distributor.hpp"
#include "runtime/eal.hpp"

namespace spead::app {

namespace {

constexpr std::uint64_t kHeap = std::uint64_t{64} << 10;
constexpr std::uint32_t kLive = 4;

/// Holds a row of the table. Times are medians, per packet.
struct DistributeResult {
    std::uint64_t packets = 0;  ///< per pass
    double ns = 0;              ///< of the polls, with the queue's own
    double bare_ns = 0;         ///< of the queue's own polls
    bool exact = true;          ///< each packet came to the lcore of its heap, or to another one
};

/// Gives prebuilt packets to a distributor, and takes them from its rings between two polls.
class DistributePasses {
  public:
    DistributePasses(const AssemblePoint& point, std::uint32_t lcores)
        : packets_(point.packets()),
          queue_("bench distribute", packets_, point.sizes(),
                 [&point](std::uint64_t i, rte_mbuf& mbuf) { build_assemble_packet(point, i, mbuf); }),
          distributor_(lcores - 1) {
        std::vector<std::uint16_t> all(lcores);
        std::iota(all.begin(), all.end(), std::uint16_t{0});
        for (std::uint32_t s = 0; s < point.streams; s++)
            distributor_.table().add({{kAssembleGroup + s}, kAssemblePort, {}}, all);
        distributor_.connect(queue_.queue());
    }

    DistributeResult run(double seconds, std::uint32_t rounds, const process::StopSignals& signals) {
        std::vector<double> ours, bare;
        pass(distributor_.own());
        const std::uint64_t until =
            rte_rdtsc() + static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
        while (ours.empty() || ((ours.size() < rounds || rte_rdtsc() < until) && !signals.came())) {
            ours.push_back(pass(distributor_.own()));
            bare.push_back(pass(queue_.queue()));
        }
        return {packets_, median_of(ours), median_of(bare), exact_};
    }

  private:
    std::uint64_t take(const port::RxQueue& queue) noexcept {
        const std::uint16_t n = queue.rx_burst(mbufs_.data(), recv::Distributor::kBurst);
        rte_pktmbuf_free_bulk(mbufs_.data(), n);
        return n;
    }

    /// Returns the ns per packet that the polls took.
    double pass(const port::RxQueue& queue) {
        queue_.restore_order();
        queue_.next_pass();
        std::uint64_t ticks = 0;
        std::uint64_t came = 0;
        while (queue_.has_left() || distributor_.holds()) {
            const std::uint64_t begin = rte_rdtsc();
            const std::uint16_t n = queue.rx_burst(mbufs_.data(), recv::Distributor::kBurst);
            ticks += rte_rdtsc() - begin;
            rte_pktmbuf_free_bulk(mbufs_.data(), n);
            came += n;
            for (std::size_t i = 0; i < distributor_.others(); i++)
                came += take(distributor_.share(i));
        }
        exact_ &= came == packets_ && queue_.all_back();
        return static_cast<double>(ticks) * 1e9 / static_cast<double>(rte_get_tsc_hz()) /
               static_cast<double>(packets_);
    }

    std::uint64_t packets_;
    PrebuiltQueue queue_;
    recv::Distributor distributor_;
    std::array<rte_mbuf*, recv::Distributor::kBurst> mbufs_{};
    bool exact_ = true;
};

template <class F>
void each_point(const BenchOptions& o, const F& f) {
    for (const std::uint64_t set : o.working_sets)
        for (const std::uint32_t payload : o.payload_sizes)
            for (const std::uint32_t streams : o.streams)
                f(AssemblePoint{payload, std::max<std::uint64_t>(kHeap, payload), set, 0, streams, kLive});
}

}  // namespace

std::size_t bench_distribute_memory_mib(const BenchOptions& options) {
    std::size_t most = 0;
    each_point(options, [&](const AssemblePoint& p) {
        most =
            std::max(most, port::pool_bytes_of(static_cast<std::uint32_t>(p.packets()), p.sizes().room, 0));
    });
    return ((most + most / 16) >> 20) + 64;
}

int bench_distribute(const BenchOptions& options, const std::string& json_path,
                     const process::StopSignals& signals) {
    const bool table = json_path != "-";
    if (table)
        tell(stdout,
             "packets in {}; ns per packet of the polling lcore; it takes the packets from the rings, too, "
             "untimed\n{:>8} {:>9} {:>7} {:>6} {:>8} {:>8} {:>8}\n",
             runtime::Eal::pages(), "payload", "set MiB", "streams", "lcores", "ns", "bare", "added");
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    bool exact = true;
    each_point(options, [&](const AssemblePoint& p) {
        for (const std::uint32_t lcores : options.lcores) {
            if (signals.came())
                return;
            const DistributeResult r = DistributePasses(p, lcores).run(options.time, options.rounds, signals);
            exact &= r.exact;
            rows.push_back({{"payload", p.payload},
                            {"set", p.packet_set},
                            {"streams", p.streams},
                            {"lcores", lcores},
                            {"packets", r.packets},
                            {"ns_per_packet", r.ns},
                            {"bare_ns_per_packet", r.bare_ns},
                            {"added_ns", r.ns - r.bare_ns},
                            {"exact", r.exact}});
            if (table)
                tell(stdout, "{:>8} {:>9} {:>7} {:>6} {:>8.1f} {:>8.1f} {:>8.1f}{}\n", p.payload,
                     p.packet_set >> 20, p.streams, lcores, r.ns, r.bare_ns, r.ns - r.bare_ns,
                     r.exact ? "" : "  NOT EXACT");
        }
    });
    if (!json_path.empty())
        observe::write_file(json_path, nlohmann::ordered_json{{"benchmark", "distribute"},
                                                              {"packet_pages", runtime::Eal::pages()},
                                                              {"rows", rows}}
                                           .dump(2));
    if (!exact)
        tell(stderr, "bench distribute: packets were lost between the queue and the rings\n");
    if (signals.came())
        tell(stderr, "dpdk-spead: interrupted; {} combinations were measured\n", rows.size());
    return exact && !signals.came() ? kSuccess : kFailure;
}

}  // namespace spead::app
