// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>
#include <pybind11/pybind11.h>
#include <unistd.h>

namespace spead::python {

/// Keeps a thread that the interpreter ends where it is.
///
/// At its end the interpreter ends other threads where they ask for the GIL (pthread_exit). Their unwinding
/// would terminate the process at the first destructor, and destroy objects of Python without the GIL. With
/// this in the frame that it meets first, such a thread, a daemon's, stays there instead.
class Stay {
  public:
    Stay() = default;
    ~Stay() {
        while (!back_)
            ::pause();
    }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

    void is_back() noexcept { back_ = true; }

  private:
    bool back_ = false;
};

/// Calls a function of Python's C API that may run code in Python, where any thread may ask for the GIL.
/// `call` must hold no object with a destructor. It is not inlined, as WithoutGil::take().
template <typename Call>
[[gnu::noinline]] PyObject* in_python(const Call& call) {
    Stay stay;
    PyObject* const result = call();
    stay.is_back();
    return result;
}

/// Releases the GIL during its life. A thread that the interpreter ends stays at its end.
class WithoutGil {
  public:
    WithoutGil() noexcept : state_(PyEval_SaveThread()) {}
    ~WithoutGil() { take(state_); }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

  private:
    /// Takes the GIL again. It is not inlined: its frame is the first that the unwinding meets.
    [[gnu::noinline]] static void take(PyThreadState* state) {
        Stay stay;
        PyEval_RestoreThread(state);
        stay.is_back();
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
