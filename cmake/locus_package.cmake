# SPDX-License-Identifier: Apache-2.0
# Four Debian packages, made by cpack in the build folder: locus, the command; locusd, the daemon with
# its systemd unit and its user; liblocus0, the shared library for C; and liblocus-dev, the headers,
# archives, CMake package and pkg-config files. Their parts are install components.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR locus)
set(CPACK_PACKAGE_CONTACT "the maintainers of locus <maintainers@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL dev)
if(LOCUS_BUILD_APPS)
  list(APPEND CPACK_COMPONENTS_ALL command)
endif()
if(LOCUS_BUILD_LOCUSD)
  list(APPEND CPACK_COMPONENTS_ALL daemon)
endif()
if(LOCUS_BUILD_C_API)
  list(APPEND CPACK_COMPONENTS_ALL shared)
endif()
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME locus)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS locusd)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION
    "The command locus: order IDs, order_nos, stores, routing tables, plans,\nmoves.")

# Before 0.1.0 the daemon was in the package of the command. Its user is made by systemd-sysusers,
# its directories by systemd-tmpfiles, which containers have without systemd.
set(CPACK_DEBIAN_DAEMON_PACKAGE_NAME locusd)
set(CPACK_DEBIAN_DAEMON_PACKAGE_SECTION net)
set(CPACK_DEBIAN_DAEMON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DAEMON_PACKAGE_DEPENDS
    "systemd | systemd-standalone-sysusers, systemd | systemd-standalone-tmpfiles")
set(CPACK_DEBIAN_DAEMON_PACKAGE_RECOMMENDS locus)
set(CPACK_DEBIAN_DAEMON_PACKAGE_BREAKS "locus (<< 0.1.0)")
set(CPACK_DEBIAN_DAEMON_PACKAGE_REPLACES "locus (<< 0.1.0)")
set(locus_scripts ${PROJECT_SOURCE_DIR}/apps/locusd/debian)
set(CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_EXTRA
    "${locus_scripts}/postinst;${locus_scripts}/prerm;${locus_scripts}/postrm")
set(CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_DAEMON_DESCRIPTION
    "The daemon locusd: serves IDs over HTTP, and is a node of a cluster that\nleases worker IDs.")

set(CPACK_DEBIAN_SHARED_PACKAGE_NAME liblocus0)
set(CPACK_DEBIAN_SHARED_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_SHARED_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# dpkg's trigger calls ldconfig once for all packages. CPack writes scripts that do, too, unless it is
# given some of their names: it warns that it misses these two, and packs none.
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_SHARED_PACKAGE_CONTROL_EXTRA
    "${PROJECT_BINARY_DIR}/debian/triggers;${PROJECT_BINARY_DIR}/debian/no/postinst;${PROJECT_BINARY_DIR}/debian/no/postrm")
set(CPACK_DEBIAN_SHARED_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_SHARED_DESCRIPTION
    "The shared library of locus for C and languages that call C: liblocus.so.0.")

# Archives name what their users must link: the packages that hold it.
set(locus_dev_needs libabsl-dev libmurmurhash-dev "libssl-dev (>= 3.0)" "libsqlite3-dev (>= 3.37)")
foreach(package IN LISTS locus_client_packages)
  get_property(debian GLOBAL PROPERTY LOCUS_PACKAGE_${package}_DEBIAN)
  if(package STREQUAL "Boost")
    string(APPEND debian " | libboost-json-dev (>= 1.81)")
  endif()
  list(APPEND locus_dev_needs "${debian}")
endforeach()
if(LOCUS_BUILD_C_API)
  list(APPEND locus_dev_needs "liblocus0 (= ${PROJECT_VERSION})")
endif()
list(JOIN locus_dev_needs ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME liblocus-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DESCRIPTION
    "Headers and archives of locus: order IDs, order_nos, sequences, routing.")

set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/locus_debian_files.cmake)
include(CPack)
