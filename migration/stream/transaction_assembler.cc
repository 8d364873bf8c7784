// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/transaction_assembler.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/stream/row_decoder.h"
#include "migration/stream/statement.h"
#include "migration/stream/table_layout.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::stream {

using internal::Printable;

namespace {

constexpr uint32_t kUnwanted = std::numeric_limits<uint32_t>::max();
// The most memory for descriptions of tables in one transaction: thousands of tables.
constexpr size_t kMostTables = 1 << 16;  // of a statement
constexpr size_t kMostLayoutBytes = size_t{64} << 20;
// Of layouts kept between transactions.
constexpr size_t kMostKnownBytes = size_t{4} << 20;

// The number of a table changes when the server opens it again; the bytes behind the number do not.
constexpr size_t kTableIdSize = 6;

}  // namespace

absl::StatusOr<TransactionAssembler::Step> TransactionAssembler::OnEvent(std::string_view bytes) {
  LOCUS_RETURN_IF_ERROR(failed_);
  absl::StatusOr<Event> event = ParseEvent(bytes);
  absl::StatusOr<Step> step = event.ok() ? Handle(*event, bytes) : event.status();
  if (step.ok()) return step;
  const std::string within =
      group_ ? absl::StrCat(", transaction ", group_->transaction.gtid().ToString()) : "";
  failed_ = Prefixed(absl::StrCat("binary log ", Printable(place_.file.name), " after ",
                                  place_.offset, within, ": "),
                     step.status());
  if (absl::IsFailedPrecondition(failed_)) failed_ = CannotPass(failed_);
  return failed_;
}

absl::StatusOr<TransactionAssembler::Step> TransactionAssembler::Handle(const Event& event,
                                                                        std::string_view bytes) {
  const EventType type = event.header.type;
  LOCUS_RETURN_IF_ERROR(CheckType(type));
  if (!format_known_ && type != EventType::kRotate && type != EventType::kFormatDescription) {
    return absl::DataLossError(
        absl::StrCat("an event of type ", static_cast<int>(type), " before the log's format"));
  }
  absl::Status status;
  Step step;
  switch (type) {
    case EventType::kFormatDescription:
      status = OnFormat(event);
      break;
    case EventType::kRotate:
      LOCUS_RETURN_IF_ERROR(OnRotate(event));
      return step;
    case EventType::kGtidList:
      status = OnGtidList(event);
      break;
    case EventType::kHeartbeat:
      return Heartbeat{{{.name = std::string(event.body)}, event.header.next_position}};
    case EventType::kGtid:
      status = OnGtid(event);
      break;
    case EventType::kStop:
    case EventType::kAnnotateRows:
    case EventType::kBinlogCheckpoint:
    case EventType::kStartEncryption:
    case EventType::kIntvar:
    case EventType::kRand:
    case EventType::kUserVar:
    case EventType::kAppendBlock:
    case EventType::kDeleteFile:
    case EventType::kBeginLoadQuery:
      break;
    default:
      if (!group_) {
        return absl::DataLossError(
            absl::StrCat("an event of type ", static_cast<int>(type), " outside of a transaction"));
      }
      if (type == EventType::kTableMap) {
        status = OnTableMap(event);
      } else if (type == EventType::kQuery) {
        LOCUS_ASSIGN_OR_RETURN(Query query, ParseQuery(event.body));
        LOCUS_ASSIGN_OR_RETURN(step, OnQuery(event, query));
      } else if (type == EventType::kExecuteLoadQuery) {
        LOCUS_ASSIGN_OR_RETURN(Query query, ParseLoadQuery(event.body));
        LOCUS_ASSIGN_OR_RETURN(step, OnQuery(event, query));
      } else if (type == EventType::kXid) {
        LOCUS_RETURN_IF_ERROR(CheckXid(event.body));
        LOCUS_ASSIGN_OR_RETURN(step, Finish(event));
      } else if (type == EventType::kXaPrepare) {
        LOCUS_RETURN_IF_ERROR(CheckXaPrepare(event.body, group_->transaction.xid()));
        LOCUS_ASSIGN_OR_RETURN(step, Finish(event, XaPart::kPrepare));
      } else {
        status = OnRows(event, bytes);
      }
  }
  LOCUS_RETURN_IF_ERROR(status);
  if (event.header.next_position != 0) place_.offset = event.header.next_position;
  return step;
}

absl::Status TransactionAssembler::OnFormat(const Event& event) {
  LOCUS_RETURN_IF_ERROR(ParseFormatDescription(event.body).status());
  DropTorn();
  format_known_ = true;
  place_.file.server = event.header.server_id;
  place_.file.begun = event.header.timestamp;
  return absl::OkStatus();
}

absl::Status TransactionAssembler::OnRotate(const Event& event) {
  LOCUS_ASSIGN_OR_RETURN(Rotate rotate, ParseRotate(event.body));
  DropTorn();
  place_ = {{.name = std::move(rotate.file)}, rotate.position};
  before_file_.reset();
  return absl::OkStatus();
}

absl::Status TransactionAssembler::OnGtidList(const Event& event) {
  LOCUS_ASSIGN_OR_RETURN(before_file_, ParseGtidList(event.body));
  return CheckLog();
}

// A server finds a position by the numbers of its GTIDs, also in a log that gives these numbers for
// the second time. It begins with the file that has the last transaction of the position, or with
// one behind it, before which there is nothing else.
absl::Status TransactionAssembler::CheckLog() {
  const LogFile& had = options_.file;
  const LogFile& has = place_.file;
  if (log_checked_ || !had.known() || had.server != has.server) return absl::OkStatus();
  log_checked_ =
      has == had || (has.name != had.name && before_file_ && before_file_->domains() > 0 &&
                     before_file_->Covers(position_) && position_.Covers(*before_file_));
  if (log_checked_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the log was begun anew, by RESET MASTER or from a backup: ", position_.ToString(),
      " was in ", had.ToString(), ", and the log goes on from there in ", has.ToString(),
      "; what was written in between may be in neither"));
}

// No transaction lies in two files. One that has no end in its file was being written when the
// server died; at its next start the server rolled it back.
void TransactionAssembler::DropTorn() {
  if (group_) ++torn_;
  group_.reset();
}

absl::Status TransactionAssembler::OnGtid(const Event& event) {
  LOCUS_RETURN_IF_ERROR(CheckLog());
  LOCUS_ASSIGN_OR_RETURN(GtidEvent gtid, ParseGtidEvent(event));
  if (group_) {
    return absl::DataLossError(
        absl::StrCat("transaction ", gtid.gtid.ToString(), " begins before the end of another"));
  }
  const std::optional<Gtid> last = position_.Of(gtid.gtid.domain);
  if (last && gtid.gtid.sequence <= last->sequence) {
    return absl::FailedPreconditionError(
        absl::StrCat("transaction ", gtid.gtid.ToString(), " comes after ", last->ToString(),
                     ": a position cannot say which of them was read; set gtid_strict_mode=ON, and"
                     " write each domain on one server only"));
  }
  if (!last && position_.domains() == GtidPosition::kMostDomains) {
    return absl::FailedPreconditionError(
        absl::StrCat("the log has more than ", GtidPosition::kMostDomains, " GTID domains"));
  }
  group_.emplace(options_.spool);
  group_->standalone = gtid.standalone;
  group_->transaction.gtid_ = gtid;
  group_->transaction.timestamp_ = event.header.timestamp;
  return absl::OkStatus();
}

absl::StatusOr<TransactionAssembler::Step> TransactionAssembler::Finish(const Event& event,
                                                                        XaPart part) {
  const XaPart begun = group_->transaction.xa();
  if (part != begun || (part == XaPart::kEnd && !group_->transaction.empty())) {
    return absl::DataLossError("the parts of an XA transaction do not begin and end as they must");
  }
  ChangeTransaction transaction = std::move(group_->transaction);
  group_.reset();
  transaction.end_ = {place_.file, event.header.next_position};
  position_.Set(transaction.gtid());
  return transaction;
}

absl::StatusOr<TransactionAssembler::Step> TransactionAssembler::OnQuery(const Event& event,
                                                                         const Query& query) {
  const Statement statement = ParseStatement(query.text, query.database, query.rules);
  const bool nothing_yet = group_->transaction.empty();
  switch (statement.kind) {
    case StatementKind::kBegin:
    case StatementKind::kSavepoint:
      return Step();
    case StatementKind::kCommit:
      return Finish(event);
    case StatementKind::kRollback:
      if (nothing_yet) return Finish(event);
      [[fallthrough]];
    case StatementKind::kRollbackTo:
      if (nothing_yet) return Step();
      // The log has a ROLLBACK only if the transaction also changed tables that cannot roll back.
      return absl::FailedPreconditionError(
          "a ROLLBACK takes back rows before it, but not those of tables that cannot roll back");
    case StatementKind::kXa:
      // XA END comes before the event that prepares; XA COMMIT and XA ROLLBACK come alone.
      if (group_->transaction.xa() == XaPart::kPrepare) return Step();
      return Finish(event, XaPart::kEnd);
    case StatementKind::kSchema:
    case StatementKind::kRows:
    case StatementKind::kUnknown:
      break;
  }
  const bool touches = statement.kind == StatementKind::kUnknown || !statement.touched.empty();
  if (touches && (!options_.heeded || options_.heeded(statement))) {
    LOCUS_RETURN_IF_ERROR(group_->transaction.AppendStatement(statement));
  }
  return group_->standalone ? Finish(event) : Step();
}

absl::Status TransactionAssembler::OnTableMap(const Event& event) {
  LOCUS_ASSIGN_OR_RETURN(TableName name, ParseTableName(event.body));
  if (group_->tables.size() >= kMostTables) {
    return absl::DataLossError(absl::StrCat("a statement with more than ", kMostTables, " tables"));
  }
  uint32_t& index = group_->tables[name.id];
  index = kUnwanted;
  if (options_.wanted && !options_.wanted(name.database, name.table)) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(index, LayoutOf(event.body));
  return group_->transaction.AppendTable(name.id, index);
}

// Its index in the transaction.
absl::StatusOr<uint32_t> TransactionAssembler::LayoutOf(std::string_view body) {
  std::string_view definition = body.substr(kTableIdSize);
  if (auto found = group_->layouts.find(definition); found != group_->layouts.end()) {
    return found->second;
  }
  auto known = known_.find(definition);
  if (known == known_.end()) {
    LOCUS_ASSIGN_OR_RETURN(TableLayout layout, ParseTableLayout(body));
    if (known_bytes_ + definition.size() > kMostKnownBytes) {
      known_.clear();
      known_bytes_ = 0;
    }
    known_bytes_ += definition.size();
    known = known_
                .emplace(std::string(definition),
                         std::make_shared<const TableLayout>(std::move(layout)))
                .first;
  }
  group_->layout_bytes += definition.size();
  if (group_->layout_bytes > kMostLayoutBytes) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the tables of one transaction are described by more than ", kMostLayoutBytes, " bytes"));
  }
  auto& layouts = group_->transaction.layouts_;
  const uint32_t index = static_cast<uint32_t>(layouts.size());
  layouts.push_back(known->second);
  group_->layouts.emplace(std::string(definition), index);
  return index;
}

absl::Status TransactionAssembler::OnRows(const Event& event, std::string_view bytes) {
  LOCUS_ASSIGN_OR_RETURN(RowsHeader header, ParseRowsHeader(event));
  Group& group = *group_;
  auto table = group.tables.find(header.table_id);
  if (table == group.tables.end()) {
    const bool only_ends = header.table_id == kNoTable && header.rows.empty();
    if (!only_ends) {
      return absl::DataLossError(absl::StrCat("rows of the table with number ", header.table_id,
                                              ", which no event before them describes"));
    }
  } else if (table->second != kUnwanted) {
    const TableLayout& layout = *group.transaction.layouts_[table->second];
    LOCUS_RETURN_IF_ERROR(CheckImage(header, layout));
    LOCUS_RETURN_IF_ERROR(group.transaction.AppendEvent(bytes));
  }
  if (!header.ends_statement) return absl::OkStatus();
  bool stored = false;
  for (const auto& [id, layout] : group.tables) stored = stored || layout != kUnwanted;
  group.tables.clear();
  return stored ? group.transaction.AppendStatementEnd() : absl::OkStatus();
}

}  // namespace locus::stream
