# SPDX-License-Identifier: Apache-2.0
# MariadbConnector::mariadb, Debian's libmariadb-dev (Connector/C, 3.1 or later).
find_path(MariadbConnector_INCLUDE_DIR mariadb_version.h PATH_SUFFIXES mariadb)
find_library(MariadbConnector_LIBRARY mariadb)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  MariadbConnector REQUIRED_VARS MariadbConnector_LIBRARY MariadbConnector_INCLUDE_DIR)
if(MariadbConnector_FOUND AND NOT TARGET MariadbConnector::mariadb)
  add_library(MariadbConnector::mariadb UNKNOWN IMPORTED)
  set_target_properties(
    MariadbConnector::mariadb
    PROPERTIES IMPORTED_LOCATION "${MariadbConnector_LIBRARY}"
               INTERFACE_INCLUDE_DIRECTORIES "${MariadbConnector_INCLUDE_DIR}")
endif()
mark_as_advanced(MariadbConnector_INCLUDE_DIR MariadbConnector_LIBRARY)
