// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_page.hpp"

#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "observe/api_access.hpp"
#include "observe/page.hpp"
#include "observe/web_server.hpp"

namespace spead::app {

using observe::HttpAnswer;
using observe::HttpRequest;
using observe::HttpRoute;

namespace {

constexpr std::string_view kFleet = "/api/v1/fleet";

/// Answers the requests, on the server's thread.
class FleetSite {
  public:
    void publish(std::string json) {
        auto text = std::make_shared<const std::string>(std::move(json));
        const std::lock_guard guard(mutex_);
        text_ = std::move(text);
    }

    HttpRoute operator()(const HttpRequest& request) {
        if (auto refusal = observe::why_not_read(request, names_))
            return std::move(*refusal);
        if (request.path == kFleet)
            return request.reads() ? fleet() : method_answer(request, "GET, HEAD");
        if (auto page = observe::page_answer(request, "/page/fleet.html"))
            return std::move(*page);
        return observe::error_answer(
            404, fmt::format("there is no {} here; {} has the numbers", request.path, kFleet));
    }

  private:
    HttpAnswer fleet() {
        std::shared_ptr<const std::string> text;
        {
            const std::lock_guard guard(mutex_);
            text = text_;
        }
        if (text == nullptr)
            return observe::error_answer(503, "the processes have not been asked yet; ask again");
        return {
            .type = "application/json", .body = std::move(text), .fields = {{"Cache-Control", "no-store"}}};
    }

    const std::vector<std::string> names_ = observe::own_names();
    std::mutex mutex_;  ///< guards text_
    std::shared_ptr<const std::string> text_;
};

}  // namespace

struct FleetPage::Server {
    explicit Server(const ListenAddress& listen)
        : http("--http", listen, {}, [this](const HttpRequest& request) { return site(request); }) {}

    FleetSite site;
    observe::WebServer http;
};

FleetPage::FleetPage(const ListenAddress& listen) : server_(std::make_unique<Server>(listen)) {}

FleetPage::~FleetPage() = default;

void FleetPage::publish(std::string json) {
    server_->site.publish(std::move(json));
}

const ListenAddress& FleetPage::address() const noexcept {
    return server_->http.address();
}

}  // namespace spead::app
