// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"
#include "sink/hdf5_description.hpp"

namespace spead::sink {

bool has_hdf5() noexcept {
    return false;
}

std::vector<std::byte> hdf5_description(const std::vector<Hdf5DataSet>&,
                                        const std::vector<std::pair<std::string, std::string>>&) {
    throw_error("HDF5", "this program was built without HDF5; install libhdf5-dev and build again");
}

}  // namespace spead::sink
