// SPDX-License-Identifier: Apache-2.0
#include "src/engine/sqlite/store_file.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::sqlite {

std::string RandomId() {
  std::random_device random;
  std::string id;
  while (id.size() < 16) id += static_cast<char>(random());
  return id;
}

StoreFile::StoreFile(std::string path, absl::Duration busy_timeout)
    : path_(std::move(path)), busy_timeout_(busy_timeout) {}

absl::Status StoreFile::Connect(bool create) {
  // In this order: the tables' statements belong to the connection.
  tables_.reset();
  connection_.reset();
  LOCUS_ASSIGN_OR_RETURN(auto opened, Connection::Open(path_, create, busy_timeout_));
  connection_ = std::move(opened);
  tables_.emplace(*connection_);
  absl::Status status = CheckOrMakeSchema(create);
  if (!status.ok()) connection_.reset();
  return status;
}

absl::Status StoreFile::CheckOrMakeSchema(bool create) {
  LOCUS_ASSIGN_OR_RETURN(bool is_empty, connection_->IsEmpty());
  if (!is_empty) return absl::OkStatus();
  if (!create) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", path_, " is an empty file, not a locus store"));
  }
  return InTransaction([&]() -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(bool still_empty, connection_->IsEmpty());
    if (!still_empty) return absl::OkStatus();  // another process was first
    Identity identity{RandomId(), 0};
    LOCUS_RETURN_IF_ERROR(tables_->Create(identity));
    LOCUS_RETURN_IF_ERROR(LockSidecar());
    LOCUS_ASSIGN_OR_RETURN(Sidecar beside, sidecar_->Read());
    beside.identity = identity;
    return sidecar_->Write(beside);
  });
}

absl::Status StoreFile::LockSidecar(std::string_view what) {
  LOCUS_ASSIGN_OR_RETURN(auto locked,
                         SidecarFile::Lock(connection_->real_path(), busy_timeout_, what));
  sidecar_.emplace(std::move(locked));
  return absl::OkStatus();
}

absl::Status StoreFile::Usable() {
  if (connection_ != nullptr && connection_->StillThere()) return absl::OkStatus();
  return Connect(false);
}

absl::Status StoreFile::StillThere() const {
  if (connection_->StillThere()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("store ", path_, " was replaced just now"));
}

}  // namespace locus::sqlite
