// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ID_EVENTS_H_
#define LOCUS_APPS_LOCUSD_IDS_ID_EVENTS_H_

#include <functional>

#include "apps/locusd/ids/id_service.h"
#include "locus/number_generator.h"

// What the parts of an ID service tell, as events of the service. What happens all the time, such
// as a lease of segments, is left out.
namespace locus::locusd {

using OnIdServiceEvent = std::function<void(const IdServiceEvent&)>;

std::function<void(const GeneratorEvent&)> OrderEvents(const OnIdServiceEvent& tell);
std::function<void(const SegmentSequenceEvent&)> SequenceEvents(const OnIdServiceEvent& tell);
// Each version of a type once, whatever number of generators follows it.
std::function<void(const TypeSwitchEvent&)> TypeEvents(const OnIdServiceEvent& tell);
std::function<void(const WorkerLeaseEvent&)> LeaseEvents(const OnIdServiceEvent& tell);
std::function<void(const SnowflakeRollback&)> RollbackEvents(const OnIdServiceEvent& tell);
std::function<void(const RouterEvent&)> RouterEvents(const OnIdServiceEvent& tell);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ID_EVENTS_H_
