# SPDX-License-Identifier: Apache-2.0
# How every target of locus is built. Warnings and sanitizers stay private to our own build.

# Looked for only by the first cmake of a build folder: found later, it would change every command, and
# all would compile again.
if(NOT DEFINED CACHE{LOCUS_CCACHE})
  find_program(LOCUS_CCACHE ccache)
endif()
if(LOCUS_CCACHE AND PROJECT_IS_TOP_LEVEL)
  # One cache for all checkouts: paths count from the root of the checkout. The units that CMake 3.25
  # writes name their sources by full paths, so only their preprocessed text is the same elsewhere:
  # CCACHE_DEPEND, which does without that text, would share nothing. clang's compiled headers hold full
  # paths, too, so its presets share within one checkout only.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
                                  CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
                                  ${LOCUS_CCACHE})
endif()

# locus_harden(target): makes errors of memory hard to exploit, in the build types that people install.
# The presets for development and the package of a distribution have the type None: these get only the
# flags of their builder.
function(locus_harden target)
  set(installed $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  set(is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
  target_compile_options(${target} PRIVATE $<${installed}:-fstack-protector-strong>)
  if(NOT LOCUS_PRECOMPILE_HEADERS)  # with them, all sources are compiled with -fPIC
    set(is_pic $<BOOL:$<TARGET_PROPERTY:POSITION_INDEPENDENT_CODE>>)
    target_compile_options(${target} PRIVATE $<$<AND:${installed},$<NOT:${is_pic}>>:-fPIE>)
  endif()
  # -U: some compilers define it themselves.
  target_compile_options(${target}
                         PRIVATE "$<${installed}:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>")
  target_link_options(${target} PRIVATE "$<${installed}:LINKER:-z,relro,-z,now>"
                      $<$<AND:${installed},${is_program}>:-pie>)
endfunction()

function(locus_compile_options target)
  if(PROJECT_IS_TOP_LEVEL)  # in the project of another, warnings are its own affair
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion
                                             -Wno-sign-conversion)
    # As a property, so that a packager can lift it: cmake --compile-no-warning-as-error.
    set_target_properties(${target} PROPERTIES COMPILE_WARNING_AS_ERROR ON)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      target_compile_options(${target} PRIVATE -Werror=thread-safety)
    elseif(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # g++ 12 -O3 takes "literal" + std::string for a copy that overlaps (GCC bug 105651), and with
      # compiled headers moves of short strings for accesses out of bounds.
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Wno-restrict>)
      if(LOCUS_PRECOMPILE_HEADERS)
        target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow
                                                 -Wno-stringop-overread)
      endif()
    endif()
  endif()
  if(LOCUS_HARDEN AND NOT LOCUS_SANITIZE)
    locus_harden(${target})
  endif()
  # The message of a failed check names its file; where that lay at build time is nobody's business.
  target_compile_options(${target} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  if(LOCUS_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${LOCUS_SANITIZE} -fno-omit-frame-pointer)
    if(LOCUS_SANITIZE MATCHES undefined)
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=undefined ${LOCUS_LESS_CHECKS})
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${LOCUS_SANITIZE})
  endif()
  if(LOCUS_BUILD_FUZZERS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(LOCUS_LLD AND PROJECT_IS_TOP_LEVEL)
    target_link_options(${target} PRIVATE -fuse-ld=lld)
  endif()
  if(LOCUS_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM ${LOCUS_PRECOMPILED})
  endif()
  if(LOCUS_UNITY)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # g++ takes the sources of a unit for headers, whose classes may have no members of local types.
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
    # Deferred: sources may still be added to the target.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL locus_unite_sources ${target})")
  endif()
endfunction()

# locus_option_sources(target sources...): sources that an option adds or replaces. Each is compiled by
# itself, so that turning the option on compiles no other source again.
function(locus_option_sources target)
  target_sources(${target} PRIVATE ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LOCUS_ALONE ON)
endfunction()

# Most of what the compiler reads for a source are headers of the standard library and of Abseil.
# These two options save most of that. A source must still include what it uses: scripts/test_includes
# compiles each one without them.
option(LOCUS_PRECOMPILE_HEADERS "Compile once the headers that most sources include"
       ${PROJECT_IS_TOP_LEVEL})
option(LOCUS_UNITY "Compile the sources of a folder together" ON)
# Links a test in a fifth of the time of GNU ld.
find_program(LOCUS_LLD NAMES ld.lld ld.lld-14 DOC "The linker lld, for our own build; optional")

# locus_unite_sources(target): the sources of each folder are compiled together, a few at a time, so
# that one change compiles little. One with the property LOCUS_ALONE is compiled by itself.
set(LOCUS_UNITED 10)
function(locus_unite_sources target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(alone ${source} LOCUS_ALONE)
    if(alone OR NOT source MATCHES "\\.cc$")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${source} generated)
    if(generated)
      continue()
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    cmake_path(GET source PARENT_PATH folder)
    string(REPLACE "/" "_" folder ${folder})
    list(APPEND folders ${folder})
    list(APPEND of_${folder} ${PROJECT_SOURCE_DIR}/${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(SORT of_${folder})
    list(LENGTH of_${folder} left)
    math(EXPR groups "(${left} + ${LOCUS_UNITED} - 1) / ${LOCUS_UNITED}")
    math(EXPR each "(${left} + ${groups} - 1) / ${groups}")
    set(group 0)
    while(of_${folder})
      list(SUBLIST of_${folder} 0 ${each} together)
      list(REMOVE_ITEM of_${folder} ${together})
      math(EXPR group "${group} + 1")
      list(LENGTH together size)
      if(size GREATER 1)
        set_source_files_properties(${together} PROPERTIES UNITY_GROUP ${folder}_${group})
      endif()
    endwhile()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

if(LOCUS_PRECOMPILE_HEADERS)
  add_compile_options(-fPIC)  # sources need the options of the compiled headers
endif()

# locus_precompile(name libraries... HEADERS headers...): compiles these headers once, for all targets
# that this folder and those below it declare from here on.
macro(locus_precompile name)
  cmake_parse_arguments(LOCUS_PRECOMPILE "" "" HEADERS ${ARGN})
  set(LOCUS_PRECOMPILED "")
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  locus_compile_options(${name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE ${LOCUS_PRECOMPILE_UNPARSED_ARGUMENTS})
  target_precompile_headers(${name} PRIVATE ${LOCUS_PRECOMPILE_HEADERS})
  set(LOCUS_PRECOMPILED ${name})
endmacro()
set(LOCUS_COMMON_HEADERS
    <algorithm> <array> <atomic> <chrono> <cstdint> <functional> <map> <memory> <optional> <random>
    <set> <span> <string> <string_view> <thread> <utility> <variant> <vector>
    <absl/container/flat_hash_map.h> <absl/status/status.h> <absl/status/statusor.h>
    <absl/strings/match.h> <absl/strings/str_cat.h> <absl/strings/str_join.h>
    <absl/strings/str_split.h> <absl/synchronization/mutex.h> <absl/time/clock.h>
    <absl/time/time.h>)

# locus_library(name sources...): library locus_<name>, known as locus::<name>, installed.
function(locus_library name)
  add_library(locus_${name} ${ARGN})
  add_library(locus::${name} ALIAS locus_${name})
  locus_compile_options(locus_${name})
  target_compile_features(locus_${name} PUBLIC cxx_std_20)
  target_include_directories(
    locus_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                  PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(
    locus_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
                             VERSION ${PROJECT_VERSION}
                             SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(LOCUS_INSTALL)
    install(TARGETS locus_${name} EXPORT locus_targets)
  endif()
endfunction()
