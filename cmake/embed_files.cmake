# SPDX-License-Identifier: Apache-2.0
# Writes the files below ROOT into a C++ source: each with its path, type, and the SHA-256 of its
# bytes. cmake -DROOT=DIRECTORY -DOUT=FILE -P embed_files.cmake
file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/*")
list(SORT files)
set(arrays "")
set(table "")
set(number 0)
foreach(file IN LISTS files)
  if(file MATCHES "[^A-Za-z0-9._/-]")
    message(FATAL_ERROR "${ROOT}/${file}: a path has other characters than A-Za-z0-9._/-")
  endif()
  if(file MATCHES "\\.html$")
    set(type "text/html; charset=utf-8")
  elseif(file MATCHES "\\.js$")
    set(type "text/javascript; charset=utf-8")
  elseif(file MATCHES "\\.css$")
    set(type "text/css; charset=utf-8")
  elseif(file MATCHES "\\.svg$")
    set(type "image/svg+xml")
  elseif(file MATCHES "\\.png$")
    set(type "image/png")
  elseif(file MATCHES "\\.ico$")
    set(type "image/x-icon")
  elseif(file MATCHES "\\.json$")
    set(type "application/json")
  elseif(file MATCHES "\\.(txt|md)$")
    set(type "text/plain; charset=utf-8")
  elseif(file MATCHES "\\.woff2$")
    set(type "font/woff2")
  else()
    message(FATAL_ERROR "${ROOT}/${file}: of a type that embed_files.cmake does not know")
  endif()
  file(READ "${ROOT}/${file}" hex HEX)
  file(SHA256 "${ROOT}/${file}" digest)
  string(LENGTH "${hex}" length)
  math(EXPR size "${length} / 2")
  # Lines of 64 bytes: a line of a megabyte is slow to read for compilers and people.
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${hex}")
  string(REPEAT "...." 64 line)
  string(REGEX REPLACE "(${line})" "\\1\"\n    \"" text "${text}")
  string(APPEND arrays "constexpr char kFile${number}[] =\n    \"${text}\";\n")
  string(APPEND table "    {\"/${file}\", \"${type}\", std::string_view(kFile${number}, ${size}), \"${digest}\"},\n")
  math(EXPR number "${number} + 1")
endforeach()
if(number EQUAL 0)
  message(FATAL_ERROR "there is no file below ${ROOT}")
endif()
file(WRITE "${OUT}.new" "// Made by cmake/embed_files.cmake.
#include \"apps/locusd/console/page.h\"

namespace locus::locusd {
namespace {

${arrays}
constexpr PageFile kFiles[] = {
${table}};

}  // namespace

std::span<const PageFile> PageFiles() { return kFiles; }

}  // namespace locus::locusd
")
file(RENAME "${OUT}.new" "${OUT}")
