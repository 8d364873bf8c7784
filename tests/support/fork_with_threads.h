// SPDX-License-Identifier: Apache-2.0
// For tests whose children start threads although their parent has threads. They test that a forked
// child may start again. To be included by one file of a program.
//
// ThreadSanitizer ends such a child by default, since it may wait for a lock whose holder it does
// not have. Turning that off checks no less: after a fork of several threads ThreadSanitizer
// ignores the child's first thread, whatever this option says.
#ifndef LOCUS_TESTS_SUPPORT_FORK_WITH_THREADS_H_
#define LOCUS_TESTS_SUPPORT_FORK_WITH_THREADS_H_

// Called by ThreadSanitizer where a program is built with it.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

#endif  // LOCUS_TESTS_SUPPORT_FORK_WITH_THREADS_H_
