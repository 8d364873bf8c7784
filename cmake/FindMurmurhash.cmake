# SPDX-License-Identifier: Apache-2.0
# Murmurhash::murmurhash, Debian's libmurmurhash-dev (bit-identical to smhasher).
find_path(Murmurhash_INCLUDE_DIR murmurhash.h)
find_library(Murmurhash_LIBRARY murmurhash)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Murmurhash REQUIRED_VARS Murmurhash_LIBRARY
                                                           Murmurhash_INCLUDE_DIR)
if(Murmurhash_FOUND AND NOT TARGET Murmurhash::murmurhash)
  add_library(Murmurhash::murmurhash UNKNOWN IMPORTED)
  set_target_properties(
    Murmurhash::murmurhash PROPERTIES IMPORTED_LOCATION "${Murmurhash_LIBRARY}"
                                      INTERFACE_INCLUDE_DIRECTORIES "${Murmurhash_INCLUDE_DIR}")
endif()
mark_as_advanced(Murmurhash_INCLUDE_DIR Murmurhash_LIBRARY)
