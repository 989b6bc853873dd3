// SPDX-License-Identifier: BSD-3-Clause
#include "observe/metrics.hpp"

#include <chrono>
#include <iterator>
#include <optional>
#include <prometheus/text_serializer.h>
#include <utility>

#include <fmt/core.h>

#include "observe/metric_families.hpp"
#include "observe/process_families.hpp"
#include "observe/shard_families.hpp"

namespace spead::observe {

namespace {

/// Holds the time in which further requests get the same page, however many there are.
constexpr std::chrono::milliseconds kSamePage{200};

/// Holds the media type of Prometheus's text format (Exposition formats, "Basic info").
constexpr const char* kType = "text/plain; version=0.0.4; charset=utf-8";

/// Makes the pages. For the server's thread.
class Pages {
  public:
    explicit Pages(MetricsSite site) : site_(std::move(site)) {}

    HttpRoute operator()(const HttpRequest& request) {
        const std::string& path = request.path;
        if (path == "/metrics" || path == "/healthz" || path == "/readyz")
            return request.reads() ? page_at(path) : method_answer(request, "GET, HEAD");
        if (site_.more)
            if (std::optional<HttpRoute> route = site_.more(request))
                return std::move(*route);
        return error_answer(404, fmt::format("there is no {} here", path));
    }

  private:
    using Clock = std::chrono::steady_clock;

    HttpAnswer page_at(std::string_view path) {
        if (path == "/metrics")
            return numbers();
        const stats::LatestSnapshot::View view = site_.latest->look();
        return judgement(path == "/healthz" ? why_not_alive(view, site_.longest_silence)
                                            : why_not_ready(view));
    }
    /// Returns the page of numbers, made again when there is a new snapshot.
    HttpAnswer numbers() {
        const auto now = Clock::now();
        if (page_ == nullptr || now - made_ >= kSamePage) {
            const std::string& name = site_.identity.name;
            std::vector<prometheus::MetricFamily> families =
                process_families(site_.identity, process_usage());
            const stats::LatestSnapshot::View view = site_.latest->look();
            add(families, metric_families(view, rising_));
            if (view)
                add(families, shard_families(name, *view.latest.snapshot));
            label_process(families, name);
            page_ = std::make_shared<const std::string>(prometheus::TextSerializer().Serialize(families));
            made_ = now;
        }
        return {.type = kType, .body = page_};
    }
    static void add(std::vector<prometheus::MetricFamily>& families,
                    std::vector<prometheus::MetricFamily> more) {
        families.insert(families.end(), std::make_move_iterator(more.begin()),
                        std::make_move_iterator(more.end()));
    }
    /// Returns a page that is good where there is no reason against it.
    static HttpAnswer judgement(std::string why) {
        const int status = why.empty() ? 200 : 503;
        return {.status = status,
                .body = std::make_shared<const std::string>(why.empty() ? "ok\n" : std::move(why))};
    }

    MetricsSite site_;
    RisingCounts rising_;
    std::shared_ptr<const std::string> page_;
    Clock::time_point made_{};
};

}  // namespace

void check_metrics(const ListenAddress& listen) {
    const WebServer server("metrics", listen, {}, [](const HttpRequest&) { return HttpAnswer{}; });
}

Metrics::Metrics(const ListenAddress& listen, const std::vector<unsigned>& cpus, MetricsSite site)
    : server_("metrics", listen, cpus, Pages(std::move(site))) {}

}  // namespace spead::observe
