# SPDX-License-Identifier: Apache-2.0
# Tests of the command line.
locus_one_thread_test(csv_test locus_csv csv)
locus_one_thread_test(store_uri_test locus_store_uri)

add_library(locus_command_test STATIC command.cc)
locus_compile_options(locus_command_test)
target_link_libraries(locus_command_test PUBLIC locus_test_support locus::core)
target_compile_definitions(locus_command_test PRIVATE LOCUS_BINARY="$<TARGET_FILE:locus>")

# locus_cli_test(name libraries...): a test that drives the binary.
function(locus_cli_test name)
  locus_test(${name} locus_command_test ${ARGN})
  add_dependencies(${name} locus)
endfunction()
locus_cli_test(cli_test)
locus_cli_test(cli_codec_test)
locus_cli_test(cli_store_test)
locus_cli_test(cli_table_test)
locus_cli_test(cli_seq_test)
locus_cli_test(cli_uuid_test)
locus_cli_test(cli_number_test)
locus_cli_test(cli_assign_test locus_csv csv)
locus_cli_test(cli_snowflake_test)
locus_cli_test(cli_plan_test locus::routing)
locus_cli_test(cli_load_test locus_mariadb_server locus::routing)
locus_cli_test(cli_docs_test)
target_compile_definitions(
  cli_docs_test PRIVATE LOCUS_MAN_PAGE="${PROJECT_SOURCE_DIR}/docs/locus.1"
                        LOCUS_COMPLETION="${PROJECT_SOURCE_DIR}/apps/locus/completion/locus.bash")
locus_cli_test(cli_engines_test locus_etcd_server locus_mariadb_server locus_redis_server)
locus_cli_test(cli_table_engines_test locus_etcd_server locus_http_table_server
               locus_mariadb_server)
