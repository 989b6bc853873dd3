# SPDX-License-Identifier: BSD-3-Clause
# find_package(dpdk-spead) gives the target dpdk-spead::dpdk-spead. The files may be moved together.
if(NOT TARGET dpdk-spead::dpdk-spead)
  get_filename_component(_dpdk_spead_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
  find_path(dpdk-spead_INCLUDE_DIR spead/process.hpp NO_DEFAULT_PATH
    PATHS "${_dpdk_spead_lib}/../include" "${_dpdk_spead_lib}/../../include")
  if(NOT dpdk-spead_INCLUDE_DIR)
    set(dpdk-spead_FOUND FALSE)
    set(dpdk-spead_NOT_FOUND_MESSAGE "the headers spead/*.hpp are not installed beside ${_dpdk_spead_lib}")
    return()
  endif()
  add_library(dpdk-spead::dpdk-spead SHARED IMPORTED)
  set_target_properties(dpdk-spead::dpdk-spead PROPERTIES
    IMPORTED_LOCATION "${_dpdk_spead_lib}/libdpdk-spead.so"
    INTERFACE_INCLUDE_DIRECTORIES "${dpdk-spead_INCLUDE_DIR}"
    INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()
