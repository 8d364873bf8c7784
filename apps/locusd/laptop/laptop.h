// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_LAPTOP_H_
#define LOCUS_APPS_LOCUSD_IDS_LAPTOP_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace locus::locusd {

struct LaptopOptions {
  std::string listen = "127.0.0.1:7070";  // of loopback only: nobody is asked for a token
  // Made where it is missing, with mode 0700: ids.db (segments, counters, worker IDs), keys (of
  // order_nos), and table.json, if somebody puts a routing table there.
  std::string data;
};

// $XDG_DATA_HOME/locusd, or $HOME/.local/share/locusd. FAILED_PRECONDITION: neither is set.
absl::StatusOr<std::string> LaptopDirectory();

// An ID service without a configuration, for whoever tries locus on a machine of his own.
// Thread safety: none.
class Laptop {
 public:
  // INVALID_ARGUMENT: `listen` is no HOST:PORT, or beyond loopback. Otherwise the errors of the
  // stores, of KeyRing::Load, of Router::Open and of http::Server::Start.
  static absl::StatusOr<std::unique_ptr<Laptop>> Open(const LaptopOptions& options);
  ~Laptop();

  // UNAVAILABLE: the store's files were removed or replaced since. No ID is given from then on, for
  // another process may have made a store in their place: end this one.
  absl::Status FilesInPlace() const;
  // "http://127.0.0.1:7070".
  std::string url() const;
  // Answers what is under way, and takes nothing new.
  void Close(absl::Duration within);

 private:
  class Rep;
  explicit Laptop(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_LAPTOP_H_
