// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_SERVICE_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_SERVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client.h"

namespace shop {

// The processes of a service. Those that are not named by kind follow the table.
struct ServiceOptions {
  unsigned processes = 6;
  unsigned late = 1;
  unsigned frozen = 1;
  unsigned plain = 1;
  double writes_a_second = 0;  // of all of them; 0: as fast as it goes
  uint64_t orders = UINT64_MAX;
  uint64_t bulk = 0;  // of the orders: inserted first, many in one transaction
  // A process that is killed (SIGKILL) is replaced by one of its kind, which inserts no bulk.
  bool revive = false;
  // Words of the command line that every process gets.
  std::vector<std::string> words;

  // INVALID_ARGUMENT, naming the option.
  absl::Status Check() const;
};

// Makes key ring, segment store and space where they are missing.
absl::Status PrepareDirectory(const Place& place);

// Starts the processes, this program with the verb "client", and waits until all of them have
// ended. SIGTERM and SIGINT end them, and so does the end of this process. A later run in the same
// directory uses other orders. UNAVAILABLE: a process failed, or was killed and not replaced; the
// others continued.
absl::Status RunService(const Place& place, const ServiceOptions& options);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_SERVICE_H_
