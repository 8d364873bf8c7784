# SPDX-License-Identifier: Apache-2.0
# Tests of the table source by HTTP, against a server of their own.
add_library(locus_http_table_server STATIC http_table_server.cc)
locus_compile_options(locus_http_table_server)
target_link_libraries(locus_http_table_server PUBLIC locus_private_server locus::routing_http
                                              PRIVATE OpenSSL::SSL)
if(LOCUS_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Asio's fences, which TSan does not see; what crosses threads is behind the server's mutex.
  set_source_files_properties(http_table_server.cc PROPERTIES COMPILE_OPTIONS -Wno-tsan)
endif()
locus_one_thread_test(http_table_rules_test locus::routing_http locus::http)
locus_test(http_table_test locus_http_table_server)
locus_test(http_table_contract_test locus_http_table_server locus_table_source_suite)
if(NOT LOCUS_SANITIZE)
  # As key_memory_test: sanitizers keep copies of their own.
  locus_test(http_token_test locus_http_table_server)
endif()
