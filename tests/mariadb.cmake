# SPDX-License-Identifier: Apache-2.0
# Tests of the engine MariaDB, against servers of their own.
add_library(locus_mariadb_server STATIC mariadb_replica.cc mariadb_server.cc)
locus_compile_options(locus_mariadb_server)
target_link_libraries(locus_mariadb_server PUBLIC locus_private_server locus::mariadb locus::core)
locus_test(mariadb_segment_store_test locus_segment_store_suite locus_mariadb_server)
locus_test(mariadb_sequencer_test locus_sequencer_suite locus_mariadb_server)
locus_test(mariadb_tls_test locus_mariadb_server)
locus_test(mariadb_loss_test locus_mariadb_server)
