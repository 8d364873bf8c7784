# SPDX-License-Identifier: Apache-2.0
# Tests of the engine MariaDB, against servers of their own.
add_library(locus_mariadb_server STATIC mariadb_replica.cc mariadb_server.cc)
locus_compile_options(locus_mariadb_server)
target_link_libraries(locus_mariadb_server PUBLIC locus_private_server locus::mariadb locus::core)
locus_test(mariadb_segment_store_test locus_segment_store_suite locus_mariadb_server)
locus_test(mariadb_sequencer_test locus_sequencer_suite locus_mariadb_server)
locus_test(mariadb_tls_test locus_mariadb_server)
locus_test(mariadb_loss_test locus_mariadb_server)
locus_test(mariadb_fault_test locus_mariadb_server locus_drawing_processes)
locus_test(mariadb_table_test locus_mariadb_server locus::routing_mariadb)
locus_test(mariadb_table_hosts_test locus_mariadb_server locus::routing_mariadb)
locus_test(mariadb_table_contract_test locus_mariadb_server locus_table_source_suite
           locus_table_publisher_suite locus::routing_mariadb)

if(NOT LOCUS_SANITIZE)  # what a cluster adds is the servers', the code of ours is that of one server
  add_library(locus_galera_cluster STATIC galera_cluster.cc)
  locus_compile_options(locus_galera_cluster)
  target_link_libraries(locus_galera_cluster PUBLIC locus_mariadb_server)
  locus_test(mariadb_galera_fault_test locus_galera_cluster locus_drawing_processes)
  locus_test(mariadb_galera_test locus_galera_cluster locus::routing_mariadb)
  # Both suites: their tests register themselves.
  target_link_libraries(
    mariadb_galera_test
    PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,locus_segment_store_contract,locus_sequencer_contract>)
  # As key_memory_test: sanitizers keep copies of their own.
  locus_test(mariadb_password_test locus_mariadb_server locus::routing_mariadb)
endif()

# The shards of a routing table.
locus_test(shard_pools_test locus_mariadb_server locus::routing_mariadb MariadbConnector::mariadb)
locus_test(shard_pools_loss_test locus_mariadb_server locus::routing_mariadb MariadbConnector::mariadb)
locus_test(shard_pools_tls_test locus_mariadb_server locus::routing_mariadb MariadbConnector::mariadb)
locus_test(schema_test locus_mariadb_server locus::mariadb)
if(TARGET order_dao_parts)
  locus_test(order_dao_test order_dao_parts locus_mariadb_server)
endif()
