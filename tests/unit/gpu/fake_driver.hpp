// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "gpu/context.hpp"

namespace spead::gpu {

/// Returns the path of the fake driver's library (tests/fake_cuda).
inline std::string fake_library() {
    const char* const path = std::getenv("FAKE_CUDA");
    return path == nullptr ? "FAKE_CUDA-is-not-set" : path;
}

inline ContextPointer fake_context() {
    return Context::open(Driver::load(fake_library()));
}

/// Sets a wish of the fake driver (tests/fake_cuda/fake_cuda.hpp) while it lives.
class FakeWish {
  public:
    FakeWish(const char* name, const std::string& value) : name_(name) { set(value); }
    ~FakeWish() { set({}); }
    FakeWish(const FakeWish&) = delete;
    FakeWish& operator=(const FakeWish&) = delete;

    void end() { set({}); }

  private:
    void set(const std::string& value) const {
        void* const library = dlopen(fake_library().c_str(), RTLD_NOW);
        const auto wish =
            library == nullptr
                ? nullptr
                : reinterpret_cast<void (*)(const char*, const char*)>(dlsym(library, "fake_cuda_wish"));
        if (wish == nullptr)
            ADD_FAILURE() << "the fake driver takes no wishes: " << fake_library();
        else
            wish(name_, value.c_str());
    }

    const char* name_;
};

/// Calls a function of the fake driver that counts something; -1: there is none.
inline int fake_count(const char* function) {
    void* const library = dlopen(fake_library().c_str(), RTLD_NOW);
    if (library == nullptr)
        return -1;
    const auto count = reinterpret_cast<int (*)()>(dlsym(library, function));
    return count == nullptr ? -1 : count();
}

/// Counts what this process owns of the fake driver's.
inline int fake_objects() {
    return fake_count("fake_cuda_live");
}

/// Counts the pieces of work that the fake GPU has not done.
inline int fake_pending() {
    return fake_count("fake_cuda_pending");
}

}  // namespace spead::gpu
