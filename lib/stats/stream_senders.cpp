// SPDX-License-Identifier: BSD-3-Clause
#include "stats/stream_senders.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/endpoint.hpp"

namespace spead::stats {

std::vector<std::string> senders_to(const Snapshot& snapshot, const std::string& stream) {
    std::vector<std::string> senders;
    for (const PortSnapshot& p : snapshot.ports)
        for (const TalkerSnapshot& t : p.talkers)
            if (t.stream == stream && t.packets > t.excess &&
                std::ranges::find(senders, t.source) == senders.end())
                senders.push_back(t.source);
    return senders;
}

bool is_address(const std::string& source) {
    return source.find(' ') == source.npos;
}

std::string name_of_sender(const Snapshot& snapshot, std::uint32_t key) {
    for (const PortSnapshot& p : snapshot.ports)
        for (const TalkerSnapshot& t : p.talkers)
            if (t.key == key && key != 0)
                return t.source;
    return sender_text(key);
}

std::string named_senders(const Snapshot& snapshot, const std::string& stream) {
    std::vector<std::string> all = senders_to(snapshot, stream);
    std::erase_if(all, [](const std::string& source) { return !is_address(source); });
    constexpr std::size_t kNamed = 2;
    if (all.empty())
        return {};
    if (all.size() > kNamed)
        return fmt::format("{}, {} and {} more", all[0], all[1], all.size() - kNamed);
    return all.size() == 1 ? all[0] : fmt::format("{} and {}", all[0], all[1]);
}

}  // namespace spead::stats
