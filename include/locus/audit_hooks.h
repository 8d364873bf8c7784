// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_AUDIT_HOOKS_H_
#define LOCUS_AUDIT_HOOKS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "locus/audit.h"
#include "locus/order_id_generator.h"
#include "locus/segment_sequence.h"
#include "locus/sequence_type_store.h"
#include "locus/space.h"
#include "locus/strict_sequencer.h"
#include "locus/worker_lease.h"

// Event hooks that record the events of this process's generators, sequences and worker leases in
// an AuditSink:
//
//   OrderIdGenerator::Options options;
//   options.on_event = AuditSegments(*sink, {.space = options.space, .place = "mysql://db-a"});
//
// A hook may be copied and called by any thread. The sink must outlive the objects that call the
// hook. A hook costs what AuditSink::Record costs, once for a segment and never for an ID. A
// Sequencer that is called without a SegmentSequence has no hook.

namespace locus {

struct AuditContext {
  SpaceName space = {};    // of segments; the event of a worker lease names its own
  std::string place = {};  // the user's name of the store; must contain no password
  // The trace to which a record belongs, 32 hex digits. Called for each record by the thread that
  // has the event: for segments, the loading thread, which works for all callers at once.
  std::function<std::string()> trace_id = {};
};

// For OrderIdGenerator::Options::on_event: records each allocated segment as kSegment, and each
// loss that a store noticed as kLossNoticed. The store of a set is named behind the place. `next`
// gets all events, after they are recorded; it may be empty.
std::function<void(const GeneratorEvent&)> AuditSegments(
    AuditSink& sink, AuditContext context, std::function<void(const GeneratorEvent&)> next = {});

// For SegmentSequence::Options::on_event and NumberGenerator::Options::on_event: records each
// segment that is taken, as kSegment, and the numbers that Close gave back, as kReleased. `first`
// is the first number, `end` the last one + 1, and `detail` names the counter and the step. Numbers
// that were given back are taken again.
std::function<void(const SegmentSequenceEvent&)> AuditSequence(
    AuditSink& sink, AuditContext context,
    std::function<void(const SegmentSequenceEvent&)> next = {});

// For WorkerLeaseOptions::on_event: records a lease when it is acquired (kGranted), released, or
// lost; renewals that the store refused (kRefused); and when its health callback begins to return
// false (kUnhealthy) or true again (kHealthy). One renewal of every `renewals` is recorded; 0:
// none. A renewal for which no answer came is repeated and not recorded. Each record names the
// holder.
std::function<void(const WorkerLeaseEvent&)> AuditWorkerLease(
    AuditSink& sink, AuditContext context, uint64_t renewals = 0,
    std::function<void(const WorkerLeaseEvent&)> next = {});

// For SequenceTypeStore::set_on_event: records each sequence type that is created, altered or
// dropped, with its version as the token. A cluster of locusd records the changes of its types
// itself.
std::function<void(const SequenceTypeEvent&)> AuditSequenceTypes(
    AuditSink& sink, AuditContext context, std::function<void(const SequenceTypeEvent&)> next = {});

// For StrictSequencerOptions::on_event: records each section that is taken, released or lost, and
// each loss that the store noticed (kLossNoticed: it raised all numbers). `context.space` is the
// set, `owner` the name of this process in it. A renewal that got no answer is repeated and not
// recorded.
std::function<void(const StrictEvent&)> AuditStrict(
    AuditSink& sink, AuditContext context, std::string owner,
    std::function<void(const StrictEvent&)> next = {});

}  // namespace locus

#endif  // LOCUS_AUDIT_HOOKS_H_
