# SPDX-License-Identifier: Apache-2.0
# Tomlplusplus::tomlplusplus, used header-only, so a user of locus links nothing for it.
find_path(Tomlplusplus_INCLUDE_DIR toml++/toml.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Tomlplusplus REQUIRED_VARS Tomlplusplus_INCLUDE_DIR)
if(Tomlplusplus_FOUND AND NOT TARGET Tomlplusplus::tomlplusplus)
  add_library(Tomlplusplus::tomlplusplus INTERFACE IMPORTED)
  set_target_properties(Tomlplusplus::tomlplusplus PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                              "${Tomlplusplus_INCLUDE_DIR}")
endif()
mark_as_advanced(Tomlplusplus_INCLUDE_DIR)
