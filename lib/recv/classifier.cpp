// SPDX-License-Identifier: BSD-3-Clause
#include "recv/classifier.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace spead::recv {

template <class Key>
ClassifierTable<Key>::ClassifierTable(std::size_t endpoints)
    : entries_(std::bit_ceil(std::max<std::size_t>(endpoints * 2, 16))),
      mask_(entries_.size() - 1),
      shift_(64 - static_cast<unsigned>(std::countr_zero(entries_.size()))) {}

template <class Key>
bool ClassifierTable<Key>::add(const Key& key, const Source& source, Target target) {
    for (std::size_t i = home(key); !entries_[i].key.is_empty(); i = (i + 1) & mask_)
        if (entries_[i].key == key && entries_[i].source == source)
            return false;
    if ((size_ + 1) * 2 > entries_.size()) {
        ClassifierTable larger(entries_.size());
        for (const Entry& e : entries_)
            if (!e.key.is_empty())
                larger.insert(e.key, e.source, e.target);
        *this = std::move(larger);
    }
    insert(key, source, target);
    return true;
}

template <class Key>
void ClassifierTable<Key>::insert(const Key& key, const Source& source, Target target) {
    target.by_source = source != Key::kAny;
    std::size_t i = home(key);
    for (std::size_t at = i; !entries_[at].key.is_empty(); at = (at + 1) & mask_)
        if (entries_[at].key == key)
            target.by_source |= entries_[at].target.by_source;
    for (; !entries_[i].key.is_empty(); i = (i + 1) & mask_)
        if (entries_[i].key == key) {
            entries_[i].last_of_key = false;
            entries_[i].target.by_source |= target.by_source;
        }
    entries_[i] = {key, source, target, true};
    size_++;
}

template class ClassifierTable<ClassifierKey4>;
template class ClassifierTable<ClassifierKey6>;

bool Classifier::has_way(const IpAddress& destination, const IpAddress& source) const noexcept {
    const auto is_there = [this](const auto& way) {
        return std::binary_search(ways_.begin(), ways_.end(), way);
    };
    return is_there(std::pair(destination, IpAddress{})) || is_there(std::pair(destination, source));
}

bool Classifier::add(const Endpoint& endpoint, Target target) {
    const std::pair way(endpoint.address, endpoint.source);
    if (const auto at = std::lower_bound(ways_.begin(), ways_.end(), way); at == ways_.end() || *at != way)
        ways_.insert(at, way);
    if (endpoint.address.is_v4())
        return v4_.add({endpoint.address.v4().value, endpoint.port}, endpoint.source.v4().value, target);
    return v6_.add({endpoint.address.v6(), endpoint.port},
                   endpoint.has_source() ? endpoint.source.v6() : ClassifierKey6::kAny, target);
}

}  // namespace spead::recv
