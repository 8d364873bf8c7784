# SPDX-License-Identifier: Apache-2.0
# Xxhash::xxhash, used header-only (XXH_INLINE_ALL), so a user of locus links nothing for it.
find_path(Xxhash_INCLUDE_DIR xxhash.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Xxhash REQUIRED_VARS Xxhash_INCLUDE_DIR)
if(Xxhash_FOUND AND NOT TARGET Xxhash::xxhash)
  add_library(Xxhash::xxhash INTERFACE IMPORTED)
  set_target_properties(Xxhash::xxhash PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                  "${Xxhash_INCLUDE_DIR}")
endif()
mark_as_advanced(Xxhash_INCLUDE_DIR)
