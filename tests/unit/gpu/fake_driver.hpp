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

/// Sets a variable of the fake driver while it lives.
class FakeWish {
  public:
    FakeWish(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
    ~FakeWish() { unsetenv(name_); }
    FakeWish(const FakeWish&) = delete;
    FakeWish& operator=(const FakeWish&) = delete;

  private:
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
