// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SOURCE_LOOPBACK_NAMESPACE_H_
#define LOCUS_TESTS_SOURCE_LOOPBACK_NAMESPACE_H_

namespace locus {

// Puts this process, and all that it starts from now on, into a network of its own that has nothing
// but a loopback interface: ports are free there, and the network can be cut without anybody else
// noticing. Before any thread is started. False, with a line on stderr: this account may not (it
// needs CAP_SYS_ADMIN, or user namespaces).
bool EnterLoopbackNamespace();

// Every connection loses what is sent from now on; new ones are refused. Until MendLoopback.
void CutLoopback();
void MendLoopback();

}  // namespace locus

#endif  // LOCUS_TESTS_SOURCE_LOOPBACK_NAMESPACE_H_
