# SPDX-License-Identifier: Apache-2.0
# Installed: headers, libraries, the command, CMake package config and pkg-config files.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/locus
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
set(locus_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/locus)
install(EXPORT locus_targets NAMESPACE locus:: DESTINATION ${locus_cmake_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/locus-config.cmake.in
                              ${PROJECT_BINARY_DIR}/locus-config.cmake
                              INSTALL_DESTINATION ${locus_cmake_dir})
# While the major version is 0, a new minor version may break its users (docs/architecture.md).
write_basic_package_version_file(${PROJECT_BINARY_DIR}/locus-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/locus-config.cmake
              ${PROJECT_BINARY_DIR}/locus-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindMurmurhash.cmake DESTINATION ${locus_cmake_dir})

# locus_pkgconfig(name description requires...)
function(locus_pkgconfig name description requires private_requires)
  set(PC_NAME locus-${name})
  set(PC_LIBRARY locus_${name})
  set(PC_DESCRIPTION "${description}")
  set(PC_REQUIRES "${requires}")
  set(PC_REQUIRES_PRIVATE "${private_requires}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/locus.pc.in
                 ${PROJECT_BINARY_DIR}/${PC_NAME}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
locus_pkgconfig(core "Order IDs, order_no, segments"
                "absl_status absl_statusor absl_time absl_strings absl_span absl_synchronization"
                "libmurmurhash libcrypto")
locus_pkgconfig(sqlite "locus segment store on SQLite" "locus-core" "sqlite3")
locus_pkgconfig(routing "locus routing table and router" "locus-core" "")
