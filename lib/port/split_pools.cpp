// SPDX-License-Identifier: BSD-3-Clause
#include "port/split_pools.hpp"

#include <atomic>
#include <bit>

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "gather/engine.hpp"
#include "port/device_calls.hpp"

namespace spead::port {

namespace {

std::string next_split_pool_name(const char* what) {
    static std::atomic<unsigned> count{0};
    return fmt::format("split_{}_{}", what, count++);
}

/// Returns the memory of pools that lack mbufs: an engine may read it until the process ends.
std::vector<std::shared_ptr<const memory::Region>>& memory_in_use() {
    static auto& regions = *new std::vector<std::shared_ptr<const memory::Region>>;
    return regions;
}

gather::Engine& engine_of(const PlannedPort& planned) {
    if (planned.payload_engine == nullptr)
        throw_error(where(planned.request),
                    "`split` is {}, and no stream of the port has `gather`, whose engine has the memory for "
                    "payload; give it to all of its streams (--heap-memory), or leave out `split`",
                    planned.request.split);
    return *planned.payload_engine;
}

}  // namespace

SplitPools::SplitPools(const PlannedPort& planned, int socket_id)
    : name_(where(planned.request)),
      sizes_(*planned.device.split),
      longest_frame_(planned.device.capabilities.max_rx_frame),
      engine_(planned.payload_engine) {
    gather::Engine& engine = engine_of(planned);
    memory_ = engine.allocate_packets(sizes_.device_bytes() * planned.device.rx_pools);
    if (sizes_.by == Splitting::software) {
        const std::byte* const view = engine.writable(*memory_);
        if (view == nullptr)
            throw_error(
                name_,
                "{} has no card that splits packets: the program does it, for tests, and cannot write "
                "the memory of the engine `{}`; set `gather` (--heap-memory) to fake, or leave out "
                "`split`",
                planned.device.name, engine.name());
        to_view_ = view - memory_->base;
    }
    try {
        for (std::uint16_t q = 0; q < planned.device.rx_pools; q++)
            make(sizes_, socket_id);
    } catch (...) {
        std::vector<std::string> none;
        end(none);
        throw;
    }
}

SplitPools::~SplitPools() {
    std::vector<std::string> none;
    end(none);
}

void SplitPools::make(const SplitSizes& sizes, int socket_id) {
    const auto need = [&](rte_mempool* pool, const QueueSizes& of) {
        if (pool == nullptr)
            throw_error(name_,
                        "no memory for a pool of packets that are split ({}; {}): raise EAL's -m by that "
                        "much, or lower --buffer-size or --max-packet-size",
                        to_string(of), reason_of(rte_errno));
        return pool;
    };
    const auto room = static_cast<std::uint16_t>(sizes.payload.data_room);
    std::byte* const at = memory_->base + payload_.size() * sizes.device_bytes();
    const rte_pktmbuf_extmem outside{at, std::bit_cast<std::uintptr_t>(at), sizes.device_bytes(), room};
    payload_.push_back(
        need(rte_pktmbuf_pool_create_extbuf(next_split_pool_name("payload").c_str(), sizes.payload.mbufs,
                                            sizes.payload.cache, 0, room, socket_id, &outside, 1),
             sizes.payload));
    if (sizes.by == Splitting::software)
        headers_.push_back(
            need(rte_pktmbuf_pool_create(next_split_pool_name("headers").c_str(), sizes.headers.mbufs,
                                         sizes.headers.cache, 0,
                                         static_cast<std::uint16_t>(sizes.headers.data_room), socket_id),
                 sizes.headers));
}

void SplitPools::map(rte_device& device) {
    registration_ = std::make_unique<RegionRegistration>(memory_->base, memory_->length, memory_->kind);
    registration_->map(device, name_);
}

RxQueue SplitPools::cutting(std::size_t queue, const RxQueue& inner) {
    queues_.resize(payload_.size());
    if (queues_[queue] == nullptr)
        queues_[queue] = std::make_unique<SplitQueue>(
            SplitQueue::Setup{inner, sizes_.at, headers_[queue], payload_[queue], longest_frame_, to_view_});
    return queues_[queue]->queue();
}

void SplitPools::end(std::vector<std::string>& remarks) {
    bool all = true;
    for (std::vector<rte_mempool*>* const pools : {&payload_, &headers_}) {
        for (rte_mempool* const pool : *pools) {
            const unsigned missing = rte_mempool_in_use_count(pool);
            if (missing == 0) {
                rte_mempool_free(pool);
                continue;
            }
            all = false;
            remarks.push_back(
                fmt::format("{}: {} of split packets not returned to the pool, which stays "
                            "allocated",
                            name_, counted_were(missing, "mbufs")));
        }
        pools->clear();
    }
    if (!all)
        memory_in_use().push_back(memory_);
    memory_.reset();
}

}  // namespace spead::port
