# SPDX-License-Identifier: Apache-2.0
# The engine redis, against servers that the tests start.
add_library(locus_redis_server STATIC redis_server.cc)
locus_compile_options(locus_redis_server)
target_link_libraries(locus_redis_server PUBLIC locus_private_server locus::redis
                                         PRIVATE Hiredis::hiredis)

locus_test(redis_sequencer_test locus_sequencer_suite locus_redis_server)
locus_test(redis_ceiling_test locus_redis_server locus::sqlite)
locus_test(redis_segment_store_test locus_segment_store_suite locus_redis_server)

locus_simulation(ceiling_simulation locus::redis)
locus_test(redis_fault_test locus_redis_server)
locus_test(redis_cluster_test locus_redis_server locus::sqlite)
if(NOT LOCUS_SANITIZE)
  # As key_memory_test: sanitizers keep copies of their own.
  locus_test(redis_password_test locus_redis_server)
endif()
