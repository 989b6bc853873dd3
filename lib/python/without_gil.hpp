// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>
#include <pybind11/pybind11.h>
#include <unistd.h>

namespace spead::python {

/// Releases the GIL during its life.
///
/// At its end the interpreter ends other threads where they ask for the GIL (pthread_exit). Their unwinding
/// would terminate the process at the first destructor, and destroy objects of Python without the GIL. Here
/// such a thread, a daemon's, stays where it is instead.
class WithoutGil {
  public:
    WithoutGil() noexcept : state_(PyEval_SaveThread()) {}
    ~WithoutGil() { take(state_); }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

  private:
    /// Takes the GIL again. It is not inlined: its frame is the first that the unwinding meets.
    [[gnu::noinline]] static void take(PyThreadState* state) {
        struct Stay {
            bool back = false;
            ~Stay() {
                while (!back)
                    ::pause();
            }
        } stay;
        PyEval_RestoreThread(state);
        stay.back = true;
    }

    PyThreadState* const state_;
};

/// Locks a mutex. Waits for it without the GIL, and has the GIL afterwards.
class Turn {
  public:
    explicit Turn(std::mutex& mutex) : mutex_(mutex) {
        const WithoutGil released;
        mutex_.lock();
    }
    ~Turn() { mutex_.unlock(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

  private:
    std::mutex& mutex_;
};

}  // namespace spead::python
