// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/heap_line.hpp"

#include "runtime/heap_items.hpp"

namespace spead::runtime {

namespace {

nlohmann::ordered_json items_json(const heap::HeapHandle& heap) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const wire::ItemView& i : items_of(heap)) {
        if (i.immediate)
            list.push_back({{"id", i.id}, {"immediate", i.value}});
        else
            list.push_back({{"id", i.id}, {"offset", i.offset}, {"length", i.length}});
    }
    return list;
}

}  // namespace

nlohmann::ordered_json heap_line(const std::string& stream, const heap::HeapHandle& heap) {
    nlohmann::ordered_json line;
    line["stream"] = stream;
    line["cnt"] = heap.cnt();
    line["complete"] = heap.complete();
    line["length"] =
        heap.has_length() ? nlohmann::ordered_json(heap.length()) : nlohmann::ordered_json(nullptr);
    line["received"] = heap.received();
    if (heap.last_time() != 0)
        line["arrival"] = {{"first_ns", heap.first_time()}, {"last_ns", heap.last_time()}};
    line["missing"] = nlohmann::ordered_json::array();
    for (const heap::Range& r : heap.missing())
        line["missing"].push_back({r.begin, r.end});
    line["items"] = items_json(heap);
    if (!heap.complete())
        line["end"] = name_of(heap.end());
    if (heap.item_past_end())
        line["item_past_end"] = true;
    return line;
}

}  // namespace spead::runtime
