# SPDX-License-Identifier: Apache-2.0
# Systemd::systemd, for sd_notify.
find_path(Systemd_INCLUDE_DIR systemd/sd-daemon.h)
find_library(Systemd_LIBRARY systemd)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Systemd REQUIRED_VARS Systemd_LIBRARY Systemd_INCLUDE_DIR)
if(Systemd_FOUND AND NOT TARGET Systemd::systemd)
  add_library(Systemd::systemd UNKNOWN IMPORTED)
  set_target_properties(Systemd::systemd PROPERTIES IMPORTED_LOCATION "${Systemd_LIBRARY}"
                                                    INTERFACE_INCLUDE_DIRECTORIES
                                                    "${Systemd_INCLUDE_DIR}")
endif()
mark_as_advanced(Systemd_INCLUDE_DIR Systemd_LIBRARY)
