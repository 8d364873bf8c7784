// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_URI_H_
#define LOCUS_ROUTING_URI_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"
#include "locus/segment_store.h"
#include "locus/sequencer.h"

// Opens any place by its URI: target locus::uri, which links every engine of this build.
//
//   sqlite:PATH                                       PATH is all after the colon, as it stands
//   mysql://[user@]host[:3306][,host...]/database     several hosts: the nodes of a Galera cluster
//   redis://[user@]host[:6379][,host...][/0]          several hosts: nodes of a Redis Cluster
//   redis+sentinel://[user@]host[:26379][,host...]/master-name
//   etcd://[user@]host[:2379][,host...][/prefix]
//   file:PATH                                         of routing tables
//   http://host[:port]/path, https://...              of routing tables, to be followed only
//
// An IPv6 address stands in brackets. In user, database, master name and prefix, %XX is a byte.
// mysql and etcd take ?tls=on (the system's authorities) or ?tls_ca=FILE; etcd also
// &tls_cert=FILE&tls_key=FILE, a client certificate. A user with more to say about a server than a
// URI can uses the engine's own options (locus/engine/, locus/routing/engine/).
//
// Errors of every function: INVALID_ARGUMENT: the URI is not one of these, has a password in it
// (which messages do not repeat), or its engine cannot do this. FAILED_PRECONDITION: the engine was
// left out of this build; the message names the CMake option. Otherwise the errors of the engine's
// Open, and of the password's callback.
namespace locus {

// Asked once, while a place is opened, for the password of its user, or for the bearer token of
// http. The text must stay valid until the call that asked returns; it is copied to memory that is
// wiped. Empty: none. A password never stands in a URI.
using AskPassword = std::function<absl::StatusOr<std::string_view>()>;

struct StoreUriOptions {
  AskPassword password = nullptr;
  // Creates a missing sqlite file, and the tables of mysql, and brings older ones up to date.
  // False: NOT_FOUND where they are missing.
  bool create = false;
};
absl::StatusOr<std::shared_ptr<SegmentStore>> OpenSegmentStore(std::string_view uri,
                                                               const StoreUriOptions& options = {});

struct SequencerUriOptions {
  AskPassword password = nullptr;
  SequencerOptions sequencer = {};
  // For redis only: a store of sqlite or mysql that keeps a ceiling for each counter, so that no
  // number repeats after Redis lost some (CeilingSequencer). Goes with neither AtMax::kWrap nor a
  // ttl, which let numbers come again. Empty: none.
  std::string ceiling = {};
  AskPassword ceiling_password = nullptr;
};
absl::StatusOr<std::unique_ptr<Sequencer>> OpenSequencer(std::string_view uri,
                                                         const SequencerUriOptions& options = {});

struct TableUriOptions {
  AskPassword password = nullptr;
};
absl::StatusOr<std::unique_ptr<TableSource>> OpenTableSource(std::string_view uri,
                                                             const TableUriOptions& options = {});
absl::StatusOr<std::unique_ptr<TablePublisher>> OpenTablePublisher(
    std::string_view uri, const TableUriOptions& options = {});
// Creates what a place needs before anything is published to it: the tables of mysql; others need
// nothing.
absl::Status CreateTablePlace(std::string_view uri, const TableUriOptions& options = {});

}  // namespace locus

#endif  // LOCUS_ROUTING_URI_H_
