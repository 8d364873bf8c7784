# SPDX-License-Identifier: Apache-2.0
# Installed: headers, libraries, the command, CMake package config and pkg-config files.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/locus
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# Each package has the licences in a folder of its own name.
set(locus_licences ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/LICENSES.md
                   ${PROJECT_SOURCE_DIR}/NOTICE)
install(FILES ${locus_licences} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/liblocus-dev)
if(LOCUS_BUILD_C_API)
  install(FILES ${locus_licences} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/liblocus0
          COMPONENT shared)
endif()
if(LOCUS_BUILD_APPS)
  install(FILES ${locus_licences} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/locus
          COMPONENT command)
endif()
if(LOCUS_BUILD_LOCUSD)
  install(FILES ${locus_licences} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/locusd
          COMPONENT daemon)
endif()

# What locus-config.cmake must know of the engines of this build.
get_property(locus_engines GLOBAL PROPERTY LOCUS_ENGINES)
set(LOCUS_NEEDS "")
set(locus_client_packages ZLIB)  # of locus::migration
foreach(name IN LISTS locus_engines ITEMS open routing_open)
  get_property(opened GLOBAL PROPERTY LOCUS_OPENED_BY_${name})
  locus_engine_needs(needs ${name} ${opened})
  if(name STREQUAL "routing_open")
    get_property(opened GLOBAL PROPERTY LOCUS_OPENED_BY_open)
    locus_engine_needs(below ${opened})
    list(APPEND needs ${below})
    list(REMOVE_DUPLICATES needs)
  endif()
  if(needs)
    list(JOIN needs " " needed)
    string(APPEND LOCUS_NEEDS "set(locus_needs_${name} ${needed})\n")
  endif()
  list(TRANSFORM needs REPLACE "::.*" "")
  list(APPEND locus_client_packages ${needs})
endforeach()
list(REMOVE_DUPLICATES locus_client_packages)
list(JOIN locus_engines " " LOCUS_ENGINE_COMPONENTS)
set(LOCUS_FIND_CLIENTS "")
set(LOCUS_CLIENTS_DEBIAN "")
foreach(package IN LISTS locus_client_packages)
  get_property(what GLOBAL PROPERTY LOCUS_PACKAGE_${package}_WHAT)
  get_property(debian GLOBAL PROPERTY LOCUS_PACKAGE_${package}_DEBIAN)
  list(JOIN what " " what)
  string(APPEND LOCUS_FIND_CLIENTS "find_package(${what})\n")
  string(APPEND LOCUS_CLIENTS_DEBIAN "set(locus_debian_${package} ${debian})\n")
endforeach()

set(locus_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/locus)
install(EXPORT locus_targets NAMESPACE locus:: FILE locus-targets.cmake
        DESTINATION ${locus_cmake_dir})
# Not at the top of the build tree: find_package looks there if its command is in PATH, and the
# targets that the file includes are only installed.
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/locus-config.cmake.in
                              ${PROJECT_BINARY_DIR}/package_files/locus-config.cmake
                              INSTALL_DESTINATION ${locus_cmake_dir})
# While the major version is 0, a new minor version may break its users (include/locus/version.h).
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package_files/locus-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package_files/locus-config.cmake
              ${PROJECT_BINARY_DIR}/package_files/locus-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindMurmurhash.cmake DESTINATION ${locus_cmake_dir})
foreach(package IN LISTS locus_client_packages)
  if(EXISTS ${PROJECT_SOURCE_DIR}/cmake/Find${package}.cmake)
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/Find${package}.cmake DESTINATION ${locus_cmake_dir})
  endif()
endforeach()

# locus_pkgconfig(name description requires): locus-<name>.pc. What the archive uses stands in
# Requires, not in Requires.private: an archive needs it with and without --static.
function(locus_pkgconfig name description requires)
  set(PC_NAME locus-${name})
  if(NOT PC_LIBRARY)
    set(PC_LIBRARY locus_${name})
  endif()
  set(PC_DESCRIPTION "${description}")
  set(PC_REQUIRES "${requires}")
  file(RELATIVE_PATH PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
       ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/locus.pc.in ${PROJECT_BINARY_DIR}/${PC_NAME}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
locus_pkgconfig(
  core "Order IDs that know where the order lives"
  "absl_status absl_statusor absl_strings absl_time absl_span libmurmurhash libcrypto >= 3.0")
locus_pkgconfig(sqlite "Segments for order IDs from an SQLite file"
                "locus-core = ${PROJECT_VERSION} sqlite3 >= 3.37")
locus_pkgconfig(routing "Which shard an order is on" "locus-core = ${PROJECT_VERSION}")
if(LOCUS_BUILD_MIGRATION)
  locus_pkgconfig(migration "How orders move between shards"
                  "locus-routing = ${PROJECT_VERSION} zlib")
endif()
locus_pkgconfig(metrics "Stats as Prometheus text" "locus-routing = ${PROJECT_VERSION}")
if(LOCUS_MYSQL)
  locus_pkgconfig(
    migration_mysql "Moves orders between MariaDB shards"
    "locus-migration = ${PROJECT_VERSION} locus-routing_mysql = ${PROJECT_VERSION}")
endif()
locus_pkgconfig(audit "Records what happened to leases" "locus-core = ${PROJECT_VERSION}")
if(TARGET locus::http)
  locus_pkgconfig(http "HTTP for engines of locus; without headers"
                  "locus-core = ${PROJECT_VERSION} libssl >= 3.0")
endif()
foreach(name IN LISTS locus_engines)
  if(TARGET locus_${name})
    get_property(description GLOBAL PROPERTY LOCUS_ENGINE_${name}_DESCRIPTION)
    locus_engine_pkgconfig(requires PC_LIBS_MORE ${name})
    locus_pkgconfig(${name} "${description}" "${requires}")
    unset(PC_LIBS_MORE)
  endif()
endforeach()
# locus_pkgconfig_opening(library description below...): of a library that opens engines.
function(locus_pkgconfig_opening library description)
  get_property(opened GLOBAL PROPERTY LOCUS_OPENED_BY_${library})
  set(requires "")
  foreach(name ${ARGN} ${opened})
    if(TARGET locus_${name})
      string(APPEND requires " locus-${name} = ${PROJECT_VERSION}")
    endif()
  endforeach()
  string(STRIP "${requires}" requires)
  locus_pkgconfig(${library} "${description}" "${requires}")
endfunction()
locus_pkgconfig_opening(open "Opens stores and sequencers by URI" sqlite)
locus_pkgconfig_opening(routing_open "Opens places of routing tables by URI" routing open)
if(LOCUS_BUILD_C_API)
  set(PC_LIBRARY locus)
  locus_pkgconfig(c "Order IDs, order_nos, sequences and routing for C" "")
  unset(PC_LIBRARY)
endif()
