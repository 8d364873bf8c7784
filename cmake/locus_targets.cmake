# SPDX-License-Identifier: Apache-2.0
# How every target of locus is built. Warnings and sanitizers stay private to our own build.

find_program(LOCUS_CCACHE ccache)
if(LOCUS_CCACHE AND PROJECT_IS_TOP_LEVEL)
  # One cache for all checkouts: paths in this one count from where it lies.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
                                  CCACHE_NOHASHDIR=1
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${LOCUS_CCACHE})
endif()

function(locus_compile_options target)
  if(PROJECT_IS_TOP_LEVEL)  # in the project of another, warnings are its own affair
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion
                                             -Wno-sign-conversion)
    # As a property, so that a packager can lift it: cmake --compile-no-warning-as-error.
    set_target_properties(${target} PROPERTIES COMPILE_WARNING_AS_ERROR ON)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      target_compile_options(${target} PRIVATE -Werror=thread-safety)
    elseif(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # g++ 12 -O3 takes "literal" + std::string for a copy that overlaps (GCC bug 105651).
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Wno-restrict>)
    endif()
  endif()
  # The message of a failed check names its file; where that lay at build time is nobody's business.
  target_compile_options(${target} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  if(LOCUS_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${LOCUS_SANITIZE} -fno-omit-frame-pointer)
    if(LOCUS_SANITIZE MATCHES undefined)
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=undefined)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${LOCUS_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # Instrumented, std::regex looks uninitialized to g++ 12. The other presets do warn.
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
  endif()
  if(LOCUS_BUILD_FUZZERS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

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
