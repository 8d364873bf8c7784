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

# What locus::uri links: the engines of this build.
set(LOCUS_URI_NEEDS "")
set(locus_uri_requires "locus-routing = ${PROJECT_VERSION} locus-sqlite = ${PROJECT_VERSION}")
if(LOCUS_MYSQL)
  string(APPEND LOCUS_URI_NEEDS " MariadbConnector::mariadb")
  string(APPEND locus_uri_requires " locus-routing_mysql = ${PROJECT_VERSION}")
endif()
if(LOCUS_REDIS)
  string(APPEND LOCUS_URI_NEEDS " Hiredis::hiredis")
  string(APPEND locus_uri_requires " locus-redis = ${PROJECT_VERSION}")
endif()
if(LOCUS_ZOOKEEPER)
  string(APPEND LOCUS_URI_NEEDS " Zookeeper::zookeeper")
  string(APPEND locus_uri_requires " locus-zookeeper = ${PROJECT_VERSION}")
endif()
if(LOCUS_ETCD)
  string(APPEND LOCUS_URI_NEEDS " Boost::json ZLIB::ZLIB")
  string(APPEND locus_uri_requires " locus-routing_etcd = ${PROJECT_VERSION}")
endif()
if(LOCUS_LOCUSD)
  string(APPEND LOCUS_URI_NEEDS " Boost::json")
  string(APPEND locus_uri_requires " locus-locusd = ${PROJECT_VERSION}")
endif()
if(LOCUS_HTTP)
  string(APPEND locus_uri_requires " locus-routing_http = ${PROJECT_VERSION}")
endif()

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
if(LOCUS_REDIS)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindHiredis.cmake DESTINATION ${locus_cmake_dir})
endif()

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
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindMariadbConnector.cmake
          DESTINATION ${locus_cmake_dir})
  locus_pkgconfig(mysql "Segments and sequences from MariaDB"
                  "locus-core = ${PROJECT_VERSION} libmariadb")
  locus_pkgconfig(routing_mysql "Routing tables from MariaDB, and its shards"
                  "locus-routing = ${PROJECT_VERSION} locus-mariadb = ${PROJECT_VERSION}")
  locus_pkgconfig(
    migration_mysql "Moves orders between MariaDB shards"
    "locus-migration = ${PROJECT_VERSION} locus-routing_mysql = ${PROJECT_VERSION}")
endif()
if(LOCUS_REDIS)
  locus_pkgconfig(redis "Numbers and segments for order IDs from Redis"
                  "locus-core = ${PROJECT_VERSION} hiredis >= 0.14")
endif()
if(LOCUS_ZOOKEEPER)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindZookeeper.cmake DESTINATION ${locus_cmake_dir})
  set(PC_LIBS_MORE " -lzookeeper_mt")  # it has no pkg-config file
  locus_pkgconfig(zookeeper "Worker IDs leased in ZooKeeper"
                  "locus-core = ${PROJECT_VERSION} absl_str_format")
  unset(PC_LIBS_MORE)
endif()
locus_pkgconfig(audit "Records what happened to leases" "locus-core = ${PROJECT_VERSION}")
if(LOCUS_ETCD OR LOCUS_HTTP OR LOCUS_CLICKHOUSE OR LOCUS_LOCUSD)
  locus_pkgconfig(http "HTTP for engines of locus; without headers"
                  "locus-core = ${PROJECT_VERSION} libssl >= 3.0")
endif()
if(LOCUS_HTTP)
  locus_pkgconfig(routing_http "Routing tables by HTTP"
                  "locus-routing = ${PROJECT_VERSION} locus-http = ${PROJECT_VERSION}")
endif()
if(LOCUS_ETCD)
  set(PC_LIBS_MORE " -lboost_json")  # Boost has no pkg-config files
  locus_pkgconfig(etcd "Segments and sequences from etcd"
                  "locus-http = ${PROJECT_VERSION} absl_flat_hash_map")
  unset(PC_LIBS_MORE)
  locus_pkgconfig(
    routing_etcd "Routing tables in etcd"
    "locus-routing = ${PROJECT_VERSION} locus-etcd = ${PROJECT_VERSION} absl_str_format zlib")
endif()
if(LOCUS_LOCUSD)
  set(PC_LIBS_MORE " -lboost_json")
  locus_pkgconfig(locusd "Worker leases from locusd" "locus-http = ${PROJECT_VERSION}")
  unset(PC_LIBS_MORE)
endif()
if(LOCUS_CLICKHOUSE)
  set(PC_LIBS_MORE " -lboost_json")
  locus_pkgconfig(clickhouse "Audit records in ClickHouse"
                  "locus-audit = ${PROJECT_VERSION} locus-http = ${PROJECT_VERSION}")
  unset(PC_LIBS_MORE)
endif()
locus_pkgconfig(uri "Opens stores, sequencers and routing tables by URI" "${locus_uri_requires}")
if(LOCUS_BUILD_C_API)
  set(PC_LIBRARY locus)
  locus_pkgconfig(c "Order IDs, order_nos, sequences and routing for C" "")
  unset(PC_LIBRARY)
endif()
