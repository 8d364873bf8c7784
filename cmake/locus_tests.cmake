# SPDX-License-Identifier: Apache-2.0
# How tests are declared. The tests of a folder are one program, tests_<folder>, since linking a
# program for each file takes longer than compiling the file; CTest still runs each file by itself
# (tests/support/test_main.cc). The target tests_<folder> also builds what those tests start.
#
# Labels: dir:<folder> · sanitized: presets asan and tsan also run it · long: only
# `scripts/test --all` runs it · proof: its failure means that something was lost or made twice, so
# scripts/test does not try it again.

# The release preset leaves out most tests that a sanitizer runs: compiling them once more, optimized,
# takes minutes.
option(LOCUS_SANITIZED_TESTS "Build the tests that the presets asan and tsan run" ON)

# When CTest ends a test that hangs. On a slow machine, beside others, some take five minutes.
set(LOCUS_TEST_SECONDS 900)

# The folder below tests/ of what is being declared, and its target.
macro(locus_test_folder)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests
             OUTPUT_VARIABLE folder)
  string(REPLACE "/" "_" folder_target "tests_${folder}")
endmacro()

# What scripts/test leaves to --all: proofs, long simulations and outages, demos, what is deployed, and
# other languages.
set(LOCUS_LONG_TESTS
    build_test check_includes_test cluster_proof_test cluster_proof_test_proxies
    config_centre_fault_test datacenters_test demo_cluster_test demo_move_test demo_shop_test
    demo_strict_test deploy_alerts_test deploy_dashboard_test deploy_manifests_test deploy_proxies_test
    deploy_rules_test deploy_sequence_alerts_test engine_fault_test key_memory_test cluster_machine_simulation_test
    leased_snowflake_simulation_test load_pass_test locusd_faults_test long_waits_test
    mysql_galera_fault_test network_cut_test order_service_move_test
    python_docs_types_test python_native_test python_test python_types_test raft_explorer_test raft_simulation_test rebalance_load_test
    routing_table_memory_test server_faults_test store_cuts_test strict_cuts_test strict_proof_test
    strict_simulation_test test_driver_test test_includes_test two_datacenters_test_OneClusterCutInTwo
    two_datacenters_test_TwoClustersCutApart)

# locus_declare_test(test labels...): CTest knows the test; it belongs to this folder.
function(locus_declare_test test)
  locus_test_folder()
  set(labels "dir:${folder}" ${ARGN})
  if(test IN_LIST LOCUS_LONG_TESTS)
    list(APPEND labels long)
  endif()
  set_property(TEST ${test} APPEND PROPERTY LABELS ${labels})
endfunction()

# locus_folder_needs(targets...): the folder's target builds these.
function(locus_folder_needs)
  locus_open_folder()
  set_property(DIRECTORY APPEND PROPERTY LOCUS_FOLDER_NEEDS ${ARGN})
endfunction()

# Each function that adds to the folder's target calls this; the target is made at the end of the folder.
function(locus_open_folder)
  get_property(open DIRECTORY PROPERTY LOCUS_FOLDER_OPEN)
  if(NOT open)
    set_property(DIRECTORY PROPERTY LOCUS_FOLDER_OPEN TRUE)
    cmake_language(DEFER CALL locus_close_folder)
  endif()
endfunction()

function(locus_close_folder)
  locus_test_folder()
  get_property(tests DIRECTORY PROPERTY LOCUS_FOLDER_TESTS)
  get_property(needs DIRECTORY PROPERTY LOCUS_FOLDER_NEEDS)
  if(NOT tests)
    add_custom_target(${folder_target})
  else()
    # A line for each test: its name and its sources, with tabs between, as paths may hold blanks.
    set(lines "")
    set(sources "")
    foreach(test IN LISTS tests)
      get_target_property(own ${test} SOURCES)
      list(FILTER own INCLUDE REGEX "_test\\.cc$")
      list(TRANSFORM own PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
      list(JOIN own "\t" line)
      string(APPEND lines "${test}\t${line}\n")
      list(APPEND sources ${own})
    endforeach()
    set(entries ${CMAKE_CURRENT_BINARY_DIR}/entries)
    file(CONFIGURE OUTPUT ${entries}.txt CONTENT "${lines}" @ONLY)
    add_custom_command(
      OUTPUT ${entries}.cc
      COMMAND ${CMAKE_COMMAND} -DIN=${entries}.txt -DOUT=${entries}.cc -P
              ${PROJECT_SOURCE_DIR}/cmake/test_entries.cmake
      DEPENDS ${entries}.txt ${PROJECT_SOURCE_DIR}/cmake/test_entries.cmake ${sources}
      COMMENT "Listing the tests of ${folder}"
      VERBATIM)
    add_executable(${folder_target} EXCLUDE_FROM_ALL ${entries}.cc)
    locus_compile_options(${folder_target})
    target_link_libraries(${folder_target} PRIVATE locus_test_main ${tests})
    foreach(test IN LISTS tests)
      # Named once more: objects are linked only where they are named.
      get_target_property(libraries ${test} LINK_LIBRARIES)
      target_link_libraries(${folder_target} PRIVATE ${libraries})
      get_target_property(needed ${test} MANUALLY_ADDED_DEPENDENCIES)
      if(needed)
        list(APPEND needs ${needed})
      endif()
    endforeach()
  endif()
  foreach(program IN LISTS tests needs)
    get_target_property(own ${program} SOURCES)
    list(TRANSFORM own PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_property(GLOBAL APPEND PROPERTY LOCUS_TEST_SOURCES ${own})
  endforeach()
  if(needs)
    list(REMOVE_DUPLICATES needs)
    add_dependencies(${folder_target} ${needs})
  endif()
  set_property(GLOBAL APPEND PROPERTY LOCUS_TEST_FOLDERS ${folder_target})
endfunction()

# What an order service calls for each order.
set(LOCUS_EACH_ORDER id order_no generator counter snowflake number/pattern)

# locus_test_objects(name libraries...): name.cc becomes a part of the folder's program.
# locus_test_entry(name): CTest runs its tests. A preset may leave the entry out.
function(locus_test_objects name)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${name}.cc)
  locus_compile_options(${name})
  target_link_libraries(${name} PRIVATE locus_test_support ${ARGN})
endfunction()
function(locus_test_entry name)
  locus_test_folder()
  add_test(NAME ${name} COMMAND ${folder_target} --entry=${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${LOCUS_TEST_SECONDS})
  locus_declare_test(${name})
  locus_open_folder()
  set_property(DIRECTORY APPEND PROPERTY LOCUS_FOLDER_TESTS ${name})
endfunction()

# locus_test(name libraries...): name.cc becomes a part of the folder's program, and a CTest entry.
function(locus_test name)
  locus_test_objects(${ARGV})
  locus_test_folder()
  if(folder IN_LIST LOCUS_EACH_ORDER)
    locus_test_entry(${name})
  elseif(LOCUS_SANITIZED_TESTS)
    locus_test_entry(${name})
    locus_label(sanitized ${name})
  endif()
endfunction()

# locus_test_program(name sources... [LINK libraries...] [OWN_MAIN]): the same as a program of its own,
# for tests that replace operator new or getaddrinfo, that search all memory of their process, or that
# have a main of their own.
function(locus_test_program name)
  cmake_parse_arguments(program "OWN_MAIN" "" "LINK" ${ARGN})
  if(NOT program_UNPARSED_ARGUMENTS)
    set(program_UNPARSED_ARGUMENTS ${name}.cc)
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${program_UNPARSED_ARGUMENTS})
  locus_compile_options(${name})
  target_link_libraries(${name} PRIVATE locus_test_support ${program_LINK})
  if(NOT program_OWN_MAIN)
    target_link_libraries(${name} PRIVATE GTest::gmock_main)
  endif()
  locus_folder_needs(${name})
endfunction()

# locus_program_test(name libraries...): locus_test_program of name.cc, and a CTest entry.
function(locus_program_test name)
  if(LOCUS_SANITIZED_TESTS)
    locus_program_entry(${ARGV})
    locus_label(sanitized ${name})
  endif()
endfunction()
# The same in every preset.
function(locus_program_entry name)
  locus_test_program(${name} LINK ${ARGN})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${LOCUS_TEST_SECONDS})
  locus_declare_test(${name})
endfunction()

# locus_label(label tests...)
function(locus_label label)
  foreach(test IN LISTS ARGN)
    set_property(TEST ${test} APPEND PROPERTY LABELS ${label})
  endforeach()
endfunction()

# The same for a test of what runs on one thread: TSan has nothing to find there.
function(locus_one_thread_test)
  if(NOT LOCUS_SANITIZE MATCHES thread)
    locus_test(${ARGV})
  endif()
endfunction()

# The same for a test of whole processes and servers, which takes long and calls nothing that a
# sanitizer does not see in shorter tests.
function(locus_plain_test name)
  if(NOT LOCUS_SANITIZE)
    locus_test_objects(${ARGV})
    locus_test_entry(${name})
  endif()
endfunction()
function(locus_plain_program_test name)
  if(NOT LOCUS_SANITIZE)
    locus_program_entry(${ARGV})
  endif()
endfunction()

# locus_script_test(name COMMAND... [NEEDS targets...]): a test that is a script, or a program of
# this build that is no test. No sanitizer runs it.
function(locus_script_test name)
  cmake_parse_arguments(script "" "" "COMMAND;NEEDS" ${ARGN})
  add_test(NAME ${name} COMMAND ${script_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${LOCUS_TEST_SECONDS})
  locus_declare_test(${name})
  locus_open_folder()
  locus_folder_needs(${script_NEEDS})
endfunction()

# locus_find_forgotten_tests(): an error for a test that no CMakeLists.txt declares. For a build that has
# all tests.
function(locus_find_forgotten_tests)
  get_property(known GLOBAL PROPERTY LOCUS_TEST_SOURCES)
  file(GLOB_RECURSE there CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.cc)
  list(REMOVE_ITEM there ${known})
  if(there)
    list(JOIN there " " there)
    message(FATAL_ERROR "no CMakeLists.txt declares the tests in ${there}")
  endif()
endfunction()

# locus_optimize(target): for programs that run longer than they compile. Headers compiled without -O2
# do not fit them.
function(locus_optimize target)
  set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  target_compile_options(${target} PRIVATE -O2)
endfunction()

# locus_simulation(name library [seeds]): name_test runs that many seeds of name.cc, by default 10,000,
# on one thread. Not under sanitizers: it would take ten times as long, and other tests run the same
# code there.
function(locus_simulation name library)
  if(LOCUS_SANITIZE)
    return()
  endif()
  set(seeds 10000)
  if(ARGC GREATER 2)
    set(seeds ${ARGV2})
  endif()
  locus_test_program(${name}_test ${name}_test.cc ${name}.cc LINK ${library} OWN_MAIN)
  locus_optimize(${name}_test)
  add_test(NAME ${name}_test COMMAND ${name}_test --seeds=${seeds})
  locus_declare_test(${name}_test)
endfunction()
