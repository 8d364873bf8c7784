// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_MYSQL_MARIADB_REPLICA_H_
#define LOCUS_TESTS_ENGINE_MYSQL_MARIADB_REPLICA_H_

#include "tests/engine/mysql/mariadb_server.h"

namespace locus {

// Settings of a server that may be one of a pair.
MariadbServer::Settings ReplicaSettings(uint16_t server_id);

// From now on the replica follows the primary, asynchronously, and is read-only. Both were started
// just now. These functions fail the test when the servers do.
void Replicate(MariadbServer& primary, MariadbServer& replica);
// Until the replica has all that the primary has now.
void WaitForReplica(MariadbServer& primary, MariadbServer& replica);
// The replica applies no more; it stays read-only.
void CutOff(MariadbServer& replica);
// The replica is a primary from now on.
void Promote(MariadbServer& replica);
// Read-only from now on, as a primary is made before another takes its place.
void MakeReadOnly(MariadbServer& server);

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_MYSQL_MARIADB_REPLICA_H_
