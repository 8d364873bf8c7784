# SPDX-License-Identifier: Apache-2.0
# The engine etcd, against servers that the tests start.
add_library(locus_etcd_server STATIC etcd_server.cc)
locus_compile_options(locus_etcd_server)
target_link_libraries(locus_etcd_server PUBLIC locus_private_server locus::etcd locus::core)

locus_test(etcd_segment_store_test locus_segment_store_suite locus_etcd_server)
locus_test(etcd_sequencer_test locus_sequencer_suite locus_etcd_server)
locus_test(etcd_loss_test locus_etcd_server)
locus_test(etcd_cluster_test locus_drawing_processes locus_etcd_server)
locus_test(etcd_access_test locus_etcd_server)
locus_test(etcd_connection_test locus_etcd_server)
locus_one_thread_test(etcd_rules_test locus::etcd)
locus_test(http_connection_test locus::http locus_private_server)
locus_test(etcd_table_test locus_table_source_suite locus_table_publisher_suite
           locus::routing_etcd locus_etcd_server)
locus_test(etcd_table_server_test locus::routing_etcd locus_etcd_server)
target_sources(etcd_table_server_test PRIVATE losing_relay.cc)
locus_test(etcd_table_cluster_test locus::routing_etcd locus_etcd_server)
if(NOT LOCUS_SANITIZE)
  # As key_memory_test: sanitizers keep copies of their own.
  locus_test(etcd_password_test locus_etcd_server)
endif()
