// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_pair_options.hpp"

#include "app/option_set.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "config/limits.hpp"
#include "config/names.hpp"

namespace spead::app {

namespace {

constexpr unsigned kMostTrials = 99;

/// Parses "2/3" as 2 of 3.
void parse_votes(const std::string& text, RateSearch::Options& search) {
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos)
        throw_usage("--confidence", "`{}` is not K/N; give the trials that must pass of all, as in 2/3",
                    text);
    search.of = static_cast<unsigned>(parse_integer(text.substr(slash + 1), 1, kMostTrials, "--confidence"));
    search.agree = static_cast<unsigned>(parse_integer(text.substr(0, slash), 1, search.of, "--confidence"));
}

void add_rate(OptionSet& options, const std::string& name, double& out, const std::string& description) {
    options.add(name, "RATE", rate_text(out), description, [name, &out](const std::string& text) {
        out = parse_rate(text, name);
        if (!(out > 0))
            throw_usage(name, "it must be above 0");
    });
}

void add_link_options(OptionSet& options, PairOptions& pair) {
    add_rate(options, "--from", pair.search.lowest, "Lowest rate tried, UDP payload per second");
    add_rate(options, "--up-to", pair.search.highest, "Highest rate tried");
    options.real("--resolution", pair.search.resolution, {0.0001, 1}, "Resolution, relative");
    options.real("--burst-rate-ratio", pair.burst_rate_ratio, config::kBurstRateRatio,
                 "Rate of late packets, as a multiple of the rate");
    options.duration("--trial", pair.trial, false, "Time that each trial sends");
    options.add("--confidence", "K/N", "2/3", "A rate is sustained when K of N trials pass",
                [&pair](const std::string& text) { parse_votes(text, pair.search); });
}

void add_latency_options(OptionSet& options, PairOptions& pair) {
    options.duration("--time", pair.time, false, "Time to measure each row");
    options.duration("--warm-up", pair.warm_up, false, "Time to send before, which is not counted");
    options.add("--load", "RATE,...", "100Mbps", "Rates of heaps, besides one at a time; off = none",
                [&pair](const std::string& text) {
                    pair.loads.clear();
                    if (text == "off")
                        return;
                    for (const std::string& part : split_list(text))
                        if (pair.loads.emplace_back(parse_rate(part, "--load")); !(pair.loads.back() > 0))
                            throw_usage("--load", "`{}` is not a rate; give a rate, or off for none", part);
                });
    options.text("--histogram", pair.histogram_path, "FILE", "Write every bucket of every row, as CSV");
}

}  // namespace

void add_pair_options(CLI::App& app, PairOptions& pair) {
    const bool link = pair.kind == PairKind::link;
    pair.payload_sizes =
        link ? std::vector<std::uint32_t>{1024, 1408, 8192} : std::vector<std::uint32_t>{1024};
    pair.heap_sizes =
        link ? std::vector<std::uint64_t>{0, std::uint64_t{64} << 10} : std::vector<std::uint64_t>{0};
    if (!link)
        pair.loads = {12.5e6};
    OptionSet options(app);
    options.integers("--payload", pair.payload_sizes, {1, 65400}, "SPEAD payload bytes per packet");
    options.sizes("--heap-size", pair.heap_sizes, config::kHeapSize, "packet",
                  "Bytes per heap; packet = one packet each");
    options.text("--tx-port", pair.tx_port, "DEVICE", "Port of the near end, which sends first");
    options.text("--rx-port", pair.rx_port, "DEVICE",
                 "Port of the far end; without ports: two processes, memif");
    options.text("--server", pair.server, "[ADDRESS:]PORT",
                 "Be the far end, and wait at this port for --client");
    options.text("--client", pair.client, "ADDRESS:PORT", "Be the near end of the --server at this address");
    options.text("--to", pair.to, "GROUP:PORT", "Destination of the packets; answers use the next UDP port");
    options.choice("--poll", pair.poll, config::kPollModes, "Idle mode of receive lcores");
    options.cpu("--tx-lcore", pair.tx_lcore, "CPU of the near end's lcore");
    options.cpu("--rx-lcore", pair.rx_lcore, "CPU of the far end's lcore");
    if (link)
        add_link_options(options, pair);
    else
        add_latency_options(options, pair);
}

}  // namespace spead::app
