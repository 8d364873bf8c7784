// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_OPEN_H_
#define LOCUS_OPEN_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "locus/strict_store.h"
#include "locus/typed_sequences.h"
#include "locus/worker_lease_store.h"

// Opens stores, counters, worker leases and strict sets by URI: target locus::open, which links
// every engine of this build. locus/routing/open.h opens places of routing tables.
//
//   sqlite:PATH                                       PATH is all after the colon, as it stands
//   mysql://[user@]host[:3306][,host...]/database     several hosts: the nodes of a Galera cluster
//   redis://[user@]host[:6379][,host...][/0]          several hosts: nodes of a Redis Cluster
//   redis+sentinel://[user@]host[:26379][,host...]/master-name
//   etcd://[user@]host[:2379][,host...][/prefix]
//   zookeeper://[user@]host[:2181][,host...][/prefix] segments and worker leases only
//   locusd://host[:7070][,host...]                    the API of each node; raft:// is the same
//
// An IPv6 address stands in brackets. In user, database, master name and prefix, %XX is a byte.
// locusd has segments, sequencers, sequence types and strict sequences where its nodes have
// api.store = true. mysql, etcd and locusd take ?tls=on (the system's authorities) or ?tls_ca=FILE;
// etcd also takes &tls_cert=FILE&tls_key=FILE, a client certificate. The password of locusd is its
// bearer token. For settings that a URI cannot express, use the engine's own options
// (locus/engine/).
//
// Errors of every function: INVALID_ARGUMENT: the URI is not one of these, contains a password
// (which messages do not repeat), or its engine does not provide this. FAILED_PRECONDITION: the
// engine was left out of this build; the message names the CMake option. Otherwise the errors of
// the engine's Open, and of the password callback.
namespace locus {

class LocusdCluster;

// Returns the password of a URI's user, or the bearer token for http and locusd; called once while
// a place is opened. The text must stay valid until the opening function returns. It is copied to
// memory that is wiped. Empty: no password. A URI never contains a password.
using AskPassword = std::function<absl::StatusOr<std::string_view>()>;

struct StoreUriOptions {
  AskPassword password = nullptr;
  // Creates a missing sqlite file or the tables of mysql, and upgrades older ones. False: NOT_FOUND
  // if they are missing.
  bool create = false;
};
absl::StatusOr<std::shared_ptr<SegmentStore>> OpenSegmentStore(std::string_view uri,
                                                               const StoreUriOptions& options = {});

// Worker leases. `create`: as above; without it, NOT_FOUND if the file or the tables are missing.
// In redis, etcd, zookeeper and locusd nothing needs to be created but the space.
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenWorkerLeaseStore(
    std::string_view uri, const StoreUriOptions& options = {});

// Sections of strict sequences: sqlite, mysql, etcd and locusd. `create`: as above; without it,
// NOT_FOUND if the file or the tables are missing.
absl::StatusOr<std::shared_ptr<StrictStore>> OpenStrictStore(std::string_view uri,
                                                             const StoreUriOptions& options = {});

// Shows and changes the members of a cluster of locusd; include locus/engine/locusd_cluster.h.
absl::StatusOr<std::unique_ptr<LocusdCluster>> OpenLocusdCluster(std::string_view uri,
                                                                 const AskPassword& ask = nullptr);

struct SequencerUriOptions {
  AskPassword password = nullptr;
  SequencerOptions sequencer = {};
  // For redis only: an sqlite or mysql store that keeps a ceiling for each counter, so that no
  // number repeats after Redis lost some (CeilingSequencer). It excludes AtMax::kWrap and a ttl,
  // with which numbers repeat. Empty: no ceiling.
  std::string ceiling = {};
  AskPassword ceiling_password = nullptr;
  // Whether the store must have the mark of its first start (MarkFirstStart). A store that was lost
  // and made anew has none; without this its counters begin again, and their numbers repeat. It is
  // looked for when the store is opened and whenever a counter begins: FAILED_PRECONDITION, with
  // what to do. With a ceiling, the mark is in that store.
  bool marked = false;
};
// Counters without a sequence type; with SequencerOptions::of_types, those of types. Either refuses
// the names of the other (locus/sequencer.h); the types of the store are opened when they are first
// needed.
absl::StatusOr<std::unique_ptr<Sequencer>> OpenSequencer(std::string_view uri,
                                                         const SequencerUriOptions& options = {});

// Marks a store for SequencerUriOptions::marked, and returns when it was marked first. For an
// operator who knows that no number was ever given out from it, or who has set each counter to its
// last number or above; not for a program that does it at each start. Needs the file or tables, and
// the right to count. `options`: its places and passwords.
absl::StatusOr<absl::Time> MarkFirstStart(std::string_view uri, const SequencerUriOptions& options,
                                          absl::Time now);

// Sequence types, in the store that OpenSequencer opens by the same URI. `create`: also the table
// of mysql where the locus tables are there.
absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenSequenceTypeStore(
    std::string_view uri, const StoreUriOptions& options = {});

// Counters by the names of their types: types and counters of one store. `options.sequencer` is not
// used, since the types replace it. `create`: as for OpenSequenceTypeStore. `password` and
// `ceiling_password` are called again for each way of counting, from any thread.
absl::StatusOr<std::unique_ptr<TypedSequences>> OpenTypedSequences(
    std::string_view uri, const SequencerUriOptions& options = {}, bool create = false);

}  // namespace locus

#endif  // LOCUS_OPEN_H_
