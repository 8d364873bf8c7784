# SPDX-License-Identifier: Apache-2.0
# Zookeeper::zookeeper, the C client of ZooKeeper with threads of its own.
find_path(Zookeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(Zookeeper_LIBRARY zookeeper_mt)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Zookeeper REQUIRED_VARS Zookeeper_LIBRARY
                                                              Zookeeper_INCLUDE_DIR)
if(Zookeeper_FOUND AND NOT TARGET Zookeeper::zookeeper)
  add_library(Zookeeper::zookeeper UNKNOWN IMPORTED)
  set_target_properties(
    Zookeeper::zookeeper PROPERTIES IMPORTED_LOCATION "${Zookeeper_LIBRARY}"
                                    INTERFACE_INCLUDE_DIRECTORIES "${Zookeeper_INCLUDE_DIR}")
endif()
mark_as_advanced(Zookeeper_INCLUDE_DIR Zookeeper_LIBRARY)
