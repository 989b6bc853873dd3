// SPDX-License-Identifier: BSD-3-Clause
#include "app/program.hpp"

int main(int argc, char** argv) {
    return spead::app::run_program(argc, argv);
}
