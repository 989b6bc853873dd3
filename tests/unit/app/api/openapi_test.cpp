// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "app/api/change_words.hpp"
#include "observe/api_answers.hpp"

// config/api/openapi.json says what the code does: paths, methods, members of bodies.
namespace spead::app {
namespace {

using observe::Json;

Json document() {
    const char* const root = std::getenv("DPDK_SPEAD_SOURCE_ROOT");
    if (root == nullptr)
        throw std::runtime_error("set DPDK_SPEAD_SOURCE_ROOT to the top of the tree");
    return Json::parse(std::ifstream(std::string(root) + "/config/api/openapi.json"));
}

std::set<std::string> keys_of(const Json& object) {
    std::set<std::string> keys;
    for (const auto& [key, value] : object.items())
        keys.insert(key);
    return keys;
}

TEST(OpenApi, HasThePathsAndMethodsOfTheCode) {
    std::map<std::string, std::set<std::string>> wanted{{"/api/v1/configuration", {"get", "put"}}};
    for (const observe::ApiResource& resource : observe::kApiResources)
        wanted[std::string(resource.path)] = {"get"};
    for (const ChangePath& change : change_paths())
        wanted[change.path] = {"post"};
    std::map<std::string, std::set<std::string>> found;
    const Json paths = document()["paths"];
    for (const auto& [path, methods] : paths.items())
        found[path] = keys_of(methods);
    EXPECT_EQ(found, wanted);
}

TEST(OpenApi, DescribesThemInTheSameWords) {
    const Json paths = document()["paths"];
    for (const observe::ApiResource& resource : observe::kApiResources)
        EXPECT_EQ(paths.at(std::string(resource.path))["get"]["summary"], resource.help) << resource.path;
    for (const ChangePath& change : change_paths()) {
        const Json& post = paths.at(change.path)["post"];
        EXPECT_EQ(post["summary"], change.help) << change.path;
        EXPECT_EQ(post["description"], "The prompt's `" + change.syntax + "`");
    }
}

TEST(OpenApi, BodiesHaveTheMembersOfTheCode) {
    const Json paths = document()["paths"];
    for (const ChangePath& change : change_paths()) {
        std::set<std::string> all;
        std::set<std::string> required;
        for (const ChangePath::Member& member : change.members)
            if (member.kind != ChangePath::Kind::literal) {
                all.insert(member.name);
                if (member.required)
                    required.insert(member.name);
            }
        const Json& post = paths.at(change.path)["post"];
        const Json& schema = post["requestBody"]["content"]["application/json"]["schema"];
        EXPECT_EQ(keys_of(schema["properties"]), all) << change.path;
        EXPECT_EQ(schema.value("required", std::set<std::string>()), required) << change.path;
        EXPECT_EQ(post["security"], Json::parse(R"([{"token":[]}])")) << change.path;
    }
}

TEST(OpenApi, EventsHaveTheirMembers) {
    const Json event = document()["components"]["schemas"]["event"];
    EXPECT_EQ(keys_of(event["properties"]), keys_of(event_json(observe::EventLog::Event{})));
}

}  // namespace
}  // namespace spead::app
