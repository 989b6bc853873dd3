// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/sink.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "base/heap_pattern.hpp"
#include "base/log.hpp"
#include "base/verify_sequence.hpp"
#include "runtime/dada_sink.hpp"
#include "runtime/file_sink.hpp"
#include "runtime/heap_items.hpp"
#include "runtime/raw_sink.hpp"

namespace spead::runtime {

namespace {

/// Holds the bytes of an immediate that carries one word of the sequence.
constexpr std::uint64_t kWord = 4;
constexpr std::uint64_t kReported = 10;

}  // namespace

bool Sink::take(const heap::HeapHandle& heap) noexcept {
    return attempt([&] { consume(heap); });
}

void Sink::hand(heap::HeapHandle heap, const Settled& settled) noexcept {
    const bool kept = take(heap);
    heap.reset();
    settled(kept);
}

void Sink::end() noexcept {
    try {
        finish();
    } catch (const std::exception& e) {
        fail(e.what());
    }
}

void Sink::fail(const char* what) noexcept {
    const std::lock_guard lock(mutex_);
    if (!failed())
        failure_ = what;
    failed_.store(true, std::memory_order_release);
}

std::string Sink::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

void Sink::lose(const char* why, Lack lack) noexcept {
    const std::lock_guard lock(mutex_);
    stats::SinkLoss& loss = losses_[static_cast<std::size_t>(lack)];
    loss.lack = lack;
    loss.count++;
    if (loss.why != why)
        loss.why = why;
}

std::vector<stats::SinkLoss> Sink::losses() const {
    const std::lock_guard lock(mutex_);
    std::vector<stats::SinkLoss> all;
    std::ranges::copy_if(losses_, std::back_inserter(all), [](const auto& loss) { return loss.count != 0; });
    return all;
}

std::optional<std::string> Sink::news() {
    const std::lock_guard lock(mutex_);
    if (!failed() || reported_)
        return std::nullopt;
    reported_ = true;
    return failure_;
}

/// Returns the payload where the CPU can read it.
std::span<const std::byte> VerifySink::read(const heap::HeapHandle& heap) {
    if (!engine_ || memory::cpu_accessible(engine_->kind()))
        return heap.payload();
    fetched_.resize(heap.size());
    engine_->fetch(heap.payload().data(), fetched_);
    return fetched_;
}

/// Compares a heap of a pattern, which its payload names, with all that the name says: items and bytes. None:
/// no item is the payload of a pattern.
std::optional<bool> VerifySink::verify_pattern(const heap::HeapHandle& heap, std::span<const std::byte> all,
                                               std::span<const wire::ItemView> items) const {
    for (const wire::ItemView& data : items) {
        if (data.immediate)
            continue;
        const auto payload = all.subspan(data.offset, data.length);
        const std::optional<PatternName> name = pattern_name(payload);
        if (!name || data.id != shape_of(name->pattern).data_id)
            continue;
        const bool logged = compared_wrong() >= kReported;
        const PatternItems expected = pattern_items(name->pattern, name->heap);
        for (const PatternItem& item : expected.view()) {
            const auto found = std::find_if(items.begin(), items.end(),
                                            [&](const wire::ItemView& i) { return i.id == item.id; });
            if (found != items.end() && found->immediate && found->value == item.value)
                continue;
            if (!logged)
                log_error(LogType::runtime,
                          "stream {}: heap {}: item {:#x} is not {:#x}, as its payload says", stream_,
                          heap.cnt(), item.id, item.value);
            return false;
        }
        const std::size_t right = pattern_check(payload, name->pattern, name->heap);
        if (right != payload.size() && !logged)
            log_error(LogType::runtime,
                      "stream {}: heap {}: item {:#x} differs from the pattern at byte {} of {}", stream_,
                      heap.cnt(), data.id, right, payload.size());
        return right == payload.size();
    }
    return std::nullopt;
}

void VerifySink::consume(const heap::HeapHandle& heap) {
    if (!heap.complete())
        return;
    std::vector<wire::ItemView> items = items_of(heap);
    std::erase_if(items, [](const wire::ItemView& i) { return i.id < wire::item::kFirstUser; });
    if (items.empty())
        return;
    std::stable_sort(items.begin(), items.end(),
                     [](const wire::ItemView& a, const wire::ItemView& b) { return a.id < b.id; });
    std::uint64_t bytes = 0;
    for (const wire::ItemView& i : items)
        bytes += i.immediate ? kWord : i.length;

    const std::span<const std::byte> payload = read(heap);
    if (const auto right = verify_pattern(heap, payload, items)) {
        count_compared(*right);
        return;
    }

    const std::uint64_t first_word = verify_heap_start(heap.cnt(), bytes / kWord);
    std::uint64_t at = 0;
    for (const wire::ItemView& i : items) {
        std::uint64_t wrong_at = 0;
        bool right = false;
        if (i.immediate) {
            right = i.value == verify_word((first_word + at / kWord) % kVerifyPeriod);
        } else {
            const auto data = payload.subspan(i.offset, i.length);
            wrong_at = verify_check(data, first_word, at);
            right = wrong_at == data.size();
        }
        if (!right) {
            if (compared_wrong() < kReported)
                log_error(LogType::runtime,
                          "stream {}: heap {}: item {:#x} differs from the sequence at byte {} of {}",
                          stream_, heap.cnt(), i.id, wrong_at, i.immediate ? kWord : i.length);
            count_compared(false);
            return;
        }
        at += i.immediate ? kWord : i.length;
    }
    count_compared(true);
}

std::unique_ptr<Sink> make_sink(const SinkPlan& plan, const std::string& stream) {
    switch (plan.kind) {
        case SinkKind::verify:
            return std::make_unique<VerifySink>(stream);
        case SinkKind::file:
            return std::make_unique<FileSink>(plan.directory, stream);
        case SinkKind::raw:
            return std::make_unique<RawSink>(directories_of(plan), stream, raw_options(plan));
        case SinkKind::zarr:
        case SinkKind::hdf5:
            throw_usage(stream, "this sink writes chunks, and the stream has heaps; give it a placement");
        case SinkKind::dada:
            return std::make_unique<DadaSink>(plan, stream);
        case SinkKind::null:
        case SinkKind::user:
            break;
    }
    return std::make_unique<NullSink>();
}

}  // namespace spead::runtime
