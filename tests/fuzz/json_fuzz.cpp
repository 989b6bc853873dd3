// SPDX-License-Identifier: BSD-3-Clause
// Any bytes from the other end of a benchmark's channel: messages are objects, everything else is refused,
// and the end is the end.

#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include "app/bench/json_channel.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/refusal.hpp"

namespace {

using namespace spead;
using app::ChannelClosed;
using app::JsonChannel;
using fuzz::Input;
using fuzz::require;

/// Limits a document to a socket's buffer: nobody reads while we write.
constexpr std::size_t kMost = 64 << 10;

struct Pair {
    int ours = -1;
    int theirs = -1;
    Pair() {
        int both[2];
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0, "there are sockets");
        ours = both[0];
        theirs = both[1];
    }
};

/// Sends the message over a channel of its own; what arrives is the same.
void check_sending(const nlohmann::json& message) {
    const Pair pair;
    JsonChannel from(pair.ours);
    JsonChannel to(pair.theirs);
    from.send(message);
    require(to.receive(-1) == message, "a message survives being sent");
}

}  // namespace

std::vector<Input> fuzz::seeds() {
    std::vector<Input> inputs;
    for (const std::string text :
         {R"({"bench":"dpdk-spead bench 1","kind":"link","payload_sizes":[1024,8192],"trial":1.0})"
          "\n{\"ok\":true}\n",
          "{\"do\":\"open\",\"case\":0}\n{\"do\":\"count\"}\n{\"complete\":5,\"broken\":0}\n",
          "{\"error\":\"no memory\"}\n", "[1,2,{\"a\":[[[[]]]]}]\n",
          "{\"a\":\"\\ud83d\\ude00\",\"b\":1e400,\"c\":-0.0}\n",
          "{\"a\":18446744073709551616,\"a\":null}\n\n", "{}"}) {
        inputs.emplace_back(text.begin(), text.end());
    }
    return inputs;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > kMost) {
        return 0;
    }
    const Pair pair;
    JsonChannel channel(pair.ours);
    require(write(pair.theirs, data, size) == static_cast<ssize_t>(size), "the socket holds it all");
    close(pair.theirs);
    std::size_t messages = 0;
    try {
        for (;;) {
            const nlohmann::json message = channel.receive(-1, 0);
            require(message.is_object(), "a message is an object");
            require(++messages <= size / 3, "a message takes bytes");
            check_sending(message);
        }
    } catch (const ChannelClosed& error) {
        fuzz::require_sentence(error.what());
    } catch (const Error& error) {
        fuzz::require_sentence(error.what());
    }
    return 0;
}
