// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/time_value.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/password.h"
#include "apps/locus/place/uri_options.h"
#include "locus/clock.h"
#include "locus/engine/clickhouse.h"
#include "locus/order_id.h"
#include "nlohmann/json.hpp"
#include "routing/picture/text_grid.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Align;
using internal::Printable;
using internal::StdoutStyle;
using internal::TextGrid;

namespace {

using Kind = AuditRecord::Kind;

// Records arrive in batches from many processes: a late one is up to so much older than the newest
// (AuditSinkOptions::longest_wait, and a retry).
constexpr absl::Duration kLate = absl::Seconds(60);

struct ServerLine {
  std::string server;
  ClickHouseOptions options;
  bool tls = false;
  std::optional<std::string> tls_ca;

  void DeclareOn(VerbLine& line) {
    line.Text("--server HOST:PORT", &server, "The ClickHouse server, its HTTP port")
        .Required()
        .Else("LOCUS_AUDIT");
    line.Text("--database D", &options.database, "The database");
    line.Text("--table T", &options.table, "The table");
    line.Text("--user U", &options.user,
              "Its password: LOCUS_AUDIT_PASSWORD or LOCUS_AUDIT_PASSWORD_FILE");
    line.Flag("--tls", &tls, "By HTTPS");
    line.File("--tls-ca FILE", &tls_ca, FileUse::kRead, "The authorities, PEM").Needs("--tls");
  }
  absl::StatusOr<std::unique_ptr<ClickHouseAudit>> Open() {
    options.endpoint = server;
    options.tls.enabled = tls;
    options.tls.ca_file = tls_ca.value_or("");
    LOCUS_ASSIGN_OR_RETURN(std::string_view password, Password(PasswordFor::kAudit));
    options.password = password;
    return ClickHouseAudit::Open(options);
  }
};

nlohmann::ordered_json JsonOf(const AuditRow& row) {
  const AuditRecord& record = row.record;
  nlohmann::ordered_json json;
  json["id"] = row.id;
  json["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", record.time, absl::UTCTimeZone());
  json["kind"] = std::string(ToString(record.kind));
  json["process"] = row.process;
  json["space"] = record.space;
  json["place"] = record.place;
  if (record.kind == Kind::kSegment) {
    json["section"] = record.section;
    json["first"] = absl::StrCat(record.first);
    json["end"] = absl::StrCat(record.end);
  } else if (record.kind == Kind::kGap) {
    json["lost"] = record.first;
  } else if (record.kind == Kind::kTypeCreated || record.kind == Kind::kTypeAltered ||
             record.kind == Kind::kTypeDropped) {
    json["version"] = absl::StrCat(record.token);
  } else if (record.kind == Kind::kTablePublished) {
    json["epoch"] = absl::StrCat(record.token);
    json["holder"] = record.holder;
  } else {
    json["worker"] = record.worker;
    json["token"] = absl::StrCat(record.token);
    json["floor"] = UtcMillis(record.floor);
    json["ceiling"] = UtcMillis(record.ceiling);
    json["nonce"] = record.nonce;
    json["holder"] = record.holder;
  }
  json["trace_id"] = record.trace_id;
  json["detail"] = record.detail;
  return json;
}

std::string JsonLine(const AuditRow& row) {
  return JsonOf(row).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// "worker 17, token 5", "section 3, 64..127", "12 records lost".
std::string WhatOf(const AuditRecord& record) {
  switch (record.kind) {
    case Kind::kSegment:
      return absl::StrCat("section ", record.section, ", ", record.first, "..", record.end - 1);
    case Kind::kSectionTaken:
    case Kind::kSectionReleased:
    case Kind::kSectionLost:
      return absl::StrCat("section ", record.section, ", token ", record.token, ", ",
                          Printable(record.holder, 64));
    case Kind::kTypeCreated:
    case Kind::kTypeAltered:
    case Kind::kTypeDropped:
      return absl::StrCat("version ", record.token);
    case Kind::kTablePublished:
      return absl::StrCat("epoch ", record.token, ", ", Printable(record.holder, 64));
    case Kind::kGap:
      return absl::StrCat(record.first, " records lost");
    case Kind::kMembers:
    case Kind::kCreated:
    case Kind::kDeleted:
    case Kind::kLossNoticed:
      return record.place;
    default:
      if (record.end > 0) return absl::StrCat(record.first, "..", record.end - 1);
      return absl::StrCat("worker ", record.worker, ", token ", record.token);
  }
}

std::string TextOf(const std::vector<AuditRow>& rows) {
  TextGrid grid({Align::kLeftWhole, Align::kLeftWhole, Align::kLeft, Align::kLeftWhole,
                 Align::kLeft, Align::kLeft});
  grid.Add({"time", "kind", "space", "what", "process", "detail"});
  for (const AuditRow& row : rows) {
    const AuditRecord& record = row.record;
    grid.Add({UtcMillis(record.time), std::string(ToString(record.kind)), Printable(record.space),
              WhatOf(record), Printable(row.process),
              Printable(record.detail, AuditRecord::kMostDetailBytes)});
  }
  std::string out;
  grid.AppendTo(out, StdoutStyle());
  return out;
}

std::string Shown(const std::vector<AuditRow>& rows, bool json) {
  if (!json) return TextOf(rows);
  std::string out;
  for (const AuditRow& row : rows) out += JsonLine(row);
  return out;
}

struct QueryLine {
  ServerLine server;
  std::optional<std::string> space;
  std::optional<uint64_t> worker, sequence, section;
  std::optional<absl::Time> at, since, until;
  std::optional<std::string> order_id;
  uint64_t section_size = 256;
  uint64_t limit = 1000;
  bool json = false;

  void DeclareOn(VerbLine& line) {
    server.DeclareOn(line);
    line.Text("--space S", &space, "Of this space only");
    line.Number("--worker W", &worker, {}, "Of this worker ID");
    line.Value("--at TIME", &at, ReadTime, "Who held the worker ID then").Needs("--worker");
    line.Number("--section N", &section, {.most = 65535}, "Segments of this section");
    line.Number("--sequence N", &sequence, {}, "Segments that contain this sequence");
    line.Text("--order-id ID", &order_id, "Segments that this order ID came from");
    line.Number("--section-size N", &section_size, {.least = 1, .most = 65536},
                "Vnodes of a section, as the space was created with");
    line.Value("--since TIME", &since, ReadTime, "Not before");
    line.Value("--until TIME", &until, ReadTime, "Not after");
    line.Number("--limit N", &limit, {.least = 1, .most = 100'000}, "How many, the oldest first");
    line.Flag("--json", &json, "One JSON object a line");
  }

  absl::StatusOr<AuditQuery> Query() const {
    AuditQuery query;
    if (space) {
      LOCUS_ASSIGN_OR_RETURN(query.space, SpaceName::Parse(*space));
    }
    query.worker = worker;
    query.sequence = sequence;
    if (section) query.section = static_cast<uint32_t>(*section);
    if (order_id) {
      if (sequence || section || worker) {
        return absl::InvalidArgumentError(
            "--order-id excludes --worker, --section and --sequence: it names the last two");
      }
      LOCUS_ASSIGN_OR_RETURN(OrderId id, OrderId::Parse(*order_id));
      query.section = static_cast<uint32_t>(id.gene().value() / section_size);
      query.sequence = id.sequence();
    }
    if (query.sequence || query.section) query.kinds = {Kind::kSegment};
    if (since) query.since = *since;
    if (until) query.until = *until;
    query.limit = limit;
    return query;
  }
};

// The records of the lease that was in force at a time: the grant, and all that came under its
// token. Empty: nobody had the ID.
absl::StatusOr<std::vector<AuditRow>> LeaseAt(ClickHouseAudit& audit, AuditQuery query,
                                              absl::Time at) {
  AuditQuery grants = query;
  grants.kinds = {Kind::kGranted};
  grants.until = at;
  grants.newest_first = true;
  grants.limit = 1;
  LOCUS_ASSIGN_OR_RETURN(std::vector<AuditRow> grant, audit.Query(grants));
  if (grant.empty()) return grant;
  query.token = grant[0].record.token;
  LOCUS_ASSIGN_OR_RETURN(std::vector<AuditRow> lease, audit.Query(query));
  // Ended before: its IDs, too, have earlier times.
  const bool ended = std::any_of(lease.begin(), lease.end(), [at](const AuditRow& row) {
    const Kind kind = row.record.kind;
    return (kind == Kind::kReleased || kind == Kind::kExpired || kind == Kind::kLost) &&
           row.record.time <= at;
  });
  if (ended) lease.clear();
  return lease;
}

// Prints what is new each second, until a signal ends the command or a query fails.
int Tail(std::string_view verb, ClickHouseAudit& audit, AuditQuery query) {
  std::set<std::string> seen;
  query.since = Clock::System().Now() - kLate;
  query.limit = 100'000;
  while (true) {
    const absl::Time now = Clock::System().Now();
    auto rows = audit.Query(query);
    if (!rows.ok()) return EndVerb(verb, rows.status());
    std::string out;
    std::set<std::string> still_seen;
    for (const AuditRow& row : *rows) {
      if (seen.count(row.id) == 0) out += JsonLine(row);
      still_seen.insert(row.id);
    }
    seen = std::move(still_seen);
    if (!out.empty()) {
      if (int exit = PrintAll(verb, out); exit != kDone) return exit;
    }
    query.since = now - kLate;
    Clock::System().SleepFor(absl::Seconds(1));
  }
}

}  // namespace

int RunAuditCreate(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "audit create";
  ServerLine server;
  VerbLine line(kVerb, "Makes the table of audit records, if it is missing.",
                "locus audit create --server 127.0.0.1:8123");
  server.DeclareOn(line);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto audit = server.Open();
  return EndVerb(kVerb, audit.ok() ? (*audit)->CreateTable() : audit.status());
}

int RunAuditQuery(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "audit query";
  QueryLine wish;
  VerbLine line(kVerb,
                "Prints audit records: who held a worker ID, and which process was given which "
                "sequences.",
                "locus audit query --server 127.0.0.1:8123 --worker 17 --at '2026-11-17 09:00'");
  wish.DeclareOn(line);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  absl::StatusOr<AuditQuery> query = wish.Query();
  if (!query.ok()) return WrongUsage(kVerb, query.status());
  auto audit = wish.server.Open();
  if (!audit.ok()) return EndVerb(kVerb, audit.status());
  auto rows = wish.at ? LeaseAt(**audit, *query, *wish.at) : (*audit)->Query(*query);
  if (!rows.ok()) return EndVerb(kVerb, rows.status());
  if (rows->empty()) {
    return Fail(kVerb, absl::NotFoundError(
                           wish.at ? absl::StrCat("nobody held worker ID ", *wish.worker, " at ",
                                                  UtcMillis(*wish.at), ", as far as was recorded")
                                   : "there is no such record"));
  }
  return PrintAll(kVerb, Shown(*rows, wish.json));
}

int RunAuditTail(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "audit tail";
  ServerLine server;
  std::optional<std::string> space;
  VerbLine line(kVerb,
                "Prints new audit records, one JSON object a line, until it is ended. A record is "
                "some seconds old when it comes, and one that comes a minute late is left out.",
                "locus audit tail --server 127.0.0.1:8123");
  server.DeclareOn(line);
  line.Text("--space S", &space, "Of this space only");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  AuditQuery query;
  if (space) {
    auto name = SpaceName::Parse(*space);
    if (!name.ok()) return WrongUsage(kVerb, name.status());
    query.space = *name;
  }
  auto audit = server.Open();
  if (!audit.ok()) return EndVerb(kVerb, audit.status());
  return Tail(kVerb, **audit, query);
}

}  // namespace locus::cli
