// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/scraper.hpp"

#include <algorithm>
#include <curl/curl.h>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/units.hpp"

namespace spead::app {

namespace {

/// Limits the connections at one time; further targets wait for theirs.
constexpr long kMostConnections = 256;
/// Limits the answers of all targets together.
constexpr std::size_t kMostHeld = std::size_t{256} << 20;

struct EndMulti {
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};
struct EndEasy {
    void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};

}  // namespace

/// Holds two requests for each target. libcurl keeps their connections from look to look.
struct Scraper::Requests {
    struct Request {
        Requests* of = nullptr;
        std::unique_ptr<CURL, EndEasy> easy{};
        std::string answer{};
        bool too_long = false;
        bool ended = false;
        bool begun = false;
        bool answers = false;  ///< it did at the last look
        CURLcode result = CURLE_OK;
    };

    /// Takes a part of an answer. Returns another length to end the request.
    static std::size_t take(char* bytes, std::size_t size, std::size_t count, void* context) {
        auto& request = *static_cast<Request*>(context);
        const std::size_t length = size * count;
        request.too_long =
            request.answer.size() + length > kLongestAnswer || request.of->held + length > kMostHeld;
        if (request.too_long)
            return 0;
        request.of->held += length;
        request.answer.append(bytes, length);
        return length;
    }

    /// Runs all requests until they have ended, or the time is over.
    void run(std::chrono::milliseconds patience) {
        const auto end = std::chrono::steady_clock::now() + patience;
        for (int running = 1; running != 0;) {
            if (const CURLMcode code = curl_multi_perform(multi.get(), &running); code != CURLM_OK)
                throw_error("--fleet", "the targets cannot be asked: {}", curl_multi_strerror(code));
            int left = 0;
            while (const CURLMsg* const message = curl_multi_info_read(multi.get(), &left))
                if (message->msg == CURLMSG_DONE)
                    note(message->easy_handle, message->data.result);
            const auto wait =
                std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
            if (wait.count() <= 0)
                return;
            if (running != 0)
                curl_multi_poll(multi.get(), nullptr, 0, static_cast<int>(wait.count()), nullptr);
        }
    }

    /// Decides who is asked first at the next look. While hosts that are not there take all connections,
    /// those that answer do not wait for them, and the silent ones take turns.
    void arrange() {
        const auto silent = std::stable_partition(order.begin(), order.end(),
                                                  [this](std::size_t i) { return metrics[i].answers; });
        const auto asked = std::min<std::ptrdiff_t>(order.end() - silent, kMostConnections);
        std::rotate(silent, silent + asked, order.end());
    }

    /// Makes a request for each target. Throws Error.
    void make(std::vector<Request>& requests, const std::vector<FleetTarget>& targets,
              std::string_view path) {
        requests.resize(targets.size());
        for (std::size_t i = 0; i < targets.size(); i++) {
            Request& request = requests[i];
            request.of = this;
            request.easy.reset(curl_easy_init());
            if (!request.easy)
                throw_error("--fleet", "libcurl cannot make a request; look for free memory");
            CURL* const easy = request.easy.get();
            const std::string url = fmt::format("http://{}{}", targets[i].address, path);
            curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
            curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
            curl_easy_setopt(easy, CURLOPT_PROXY, "");
            curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
            // A slow name server holds a thread of libcurl's up, and nothing else.
            curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
            curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Requests::take);
            curl_easy_setopt(easy, CURLOPT_WRITEDATA, &request);
            curl_easy_setopt(easy, CURLOPT_PRIVATE, &request);
        }
    }

    /// Begins a request.
    void begin(Request& request, std::chrono::milliseconds patience) {
        request.ended = request.too_long = false;
        request.begun = true;
        curl_easy_setopt(request.easy.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(patience.count()));
        // A host that is not there leaves its place to another one in time.
        curl_easy_setopt(request.easy.get(), CURLOPT_CONNECTTIMEOUT_MS,
                         static_cast<long>(patience.count() / 2));
        curl_multi_add_handle(multi.get(), request.easy.get());
    }

    /// Ends a request. Returns its answer, and sets `failure` if there is none.
    std::string finish(Request& request, std::string& failure) {
        std::string answer = std::exchange(request.answer, {});
        failure = failure_of(request);
        request.answers = request.begun && failure.empty();
        if (std::exchange(request.begun, false))
            curl_multi_remove_handle(multi.get(), request.easy.get());
        request.ended = false;
        return answer;
    }

    static std::string failure_of(const Request& request);

    static void note(CURL* easy, CURLcode result) {
        Request* request = nullptr;
        if (curl_easy_getinfo(easy, CURLINFO_PRIVATE, &request) != CURLE_OK || request == nullptr)
            return;
        request->ended = true;
        request->result = result;
    }

    std::unique_ptr<CURLM, EndMulti> multi{};
    std::vector<Request> metrics{};
    std::vector<Request> findings{};
    std::vector<std::size_t> order{};  ///< in which they are asked
    std::size_t held = 0;              ///< bytes of all answers
};

std::string Scraper::Requests::failure_of(const Request& request) {
    if (request.too_long)
        return fmt::format("its answer is longer than {}, or all answers than {}",
                           human_size(Scraper::kLongestAnswer), human_size(kMostHeld));
    if (!request.ended)
        return "it did not answer in time";
    if (request.result != CURLE_OK)
        return curl_easy_strerror(request.result);
    long status = 0;
    curl_easy_getinfo(request.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    return status == 200 ? std::string() : fmt::format("it answers with status {} of HTTP", status);
}

Scraper::Scraper(std::vector<FleetTarget> targets)
    : targets_(std::move(targets)), requests_(std::make_unique<Requests>()) {
    static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
    requests_->multi.reset(curl_multi_init());
    requests_->order.resize(targets_.size());
    std::iota(requests_->order.begin(), requests_->order.end(), std::size_t{0});
    if (global != CURLE_OK || !requests_->multi)
        throw_error("--fleet", "libcurl cannot begin; look for free memory");
    curl_multi_setopt(requests_->multi.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, kMostConnections);
    requests_->make(requests_->metrics, targets_, "/metrics");
    requests_->make(requests_->findings, targets_, "/api/v1/findings");
}

Scraper::~Scraper() = default;

std::vector<HostLook> Scraper::look(std::chrono::milliseconds patience) {
    requests_->held = 0;
    for (const std::size_t i : requests_->order)
        requests_->begin(requests_->metrics[i], patience);
    // Later, and of those that answer: no host that is silent has a second connection.
    for (const std::size_t i : requests_->order)
        if (requests_->metrics[i].answers)
            requests_->begin(requests_->findings[i], patience);
    requests_->run(patience);
    std::vector<HostLook> looks;
    for (std::size_t i = 0; i < targets_.size(); i++) {
        std::string failure;
        const std::string numbers = requests_->finish(requests_->metrics[i], failure);
        std::string none;
        const std::string findings = requests_->finish(requests_->findings[i], none);
        looks.push_back(failure.empty() ? look_at(targets_[i], read_exposition(numbers, kShownMetrics))
                                        : no_look_at(targets_[i], std::move(failure)));
        // Without them, the numbers are shown all the same: an older version has none.
        if (HostLook& look = looks.back(); look.failure.empty() && none.empty())
            look.findings = findings_now(findings, look.run_seconds);
    }
    requests_->arrange();
    return looks;
}

}  // namespace spead::app
