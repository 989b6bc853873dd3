// SPDX-License-Identifier: BSD-3-Clause
#include "recv/classifier.hpp"

#include <algorithm>
#include <bit>

namespace spead::recv {

Classifier::Classifier(std::size_t endpoints)
    : entries_(std::bit_ceil(std::max<std::size_t>(endpoints * 2, 16))),
      mask_(entries_.size() - 1),
      shift_(64 - static_cast<unsigned>(std::countr_zero(entries_.size()))) {}

bool Classifier::add(const Endpoint& endpoint, Target target) {
    const std::uint64_t key = key_of(endpoint.address.value, endpoint.port);
    for (std::size_t i = home(key); entries_[i].key != 0; i = (i + 1) & mask_)
        if (entries_[i].key == key && entries_[i].source == endpoint.source.value)
            return false;
    if ((size_ + 1) * 2 > entries_.size()) {
        Classifier larger(entries_.size());
        for (const Entry& e : entries_)
            if (e.key != 0)
                larger.insert({{static_cast<std::uint32_t>(e.key >> 16)},
                               static_cast<std::uint16_t>(e.key),
                               {e.source}},
                              e.target);
        *this = std::move(larger);
    }
    insert(endpoint, target);
    return true;
}

void Classifier::insert(const Endpoint& endpoint, Target target) {
    const std::uint64_t key = key_of(endpoint.address.value, endpoint.port);
    target.by_source = endpoint.has_source();
    std::size_t i = home(key);
    for (std::size_t at = i; entries_[at].key != 0; at = (at + 1) & mask_)
        if (entries_[at].key == key)
            target.by_source |= entries_[at].target.by_source;
    for (; entries_[i].key != 0; i = (i + 1) & mask_)
        if (entries_[i].key == key) {
            entries_[i].last_of_key = false;
            entries_[i].target.by_source |= target.by_source;
        }
    entries_[i] = {key, endpoint.source.value, target, true};
    size_++;
}

}  // namespace spead::recv
