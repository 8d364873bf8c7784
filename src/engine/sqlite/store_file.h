// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_SQLITE_STORE_FILE_H_
#define LOCUS_SRC_ENGINE_SQLITE_STORE_FILE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "src/engine/sqlite/connection.h"
#include "src/engine/sqlite/sidecar.h"
#include "src/engine/sqlite/tables.h"

namespace locus::sqlite {

// The file of a store as one process holds it: opened, its schema made or checked, opened anew
// when it was replaced.
// Thread safety: none.
class StoreFile {
 public:
  StoreFile(std::string path, absl::Duration busy_timeout);

  // `create`: whether a missing file is made, with the schema and a sidecar.
  absl::Status Connect(bool create);
  // Checks that the connection may be used. Opens a file that was replaced again.
  absl::Status Usable();
  // UNAVAILABLE if the file was replaced since. For the beginning of a transaction.
  absl::Status StillThere() const;

  absl::Status LockSidecar(std::string_view what = "");  // SidecarPath
  // The locked sidecar.
  SidecarFile& sidecar() { return *sidecar_; }
  // A sidecar that `body` locks stays locked until the commit. If there is no commit, what `body`
  // wrote to the sidecar is taken back before the lock is released: a transaction that failed in a
  // living process is no loss.
  template <typename Body>
  absl::Status InTransaction(const Body& body) {
    absl::Status status = connection_->InTransaction(body);
    if (!status.ok() && sidecar_) sidecar_->TakeBack();
    sidecar_.reset();
    return status;
  }

  const std::string& path() const { return path_; }
  Connection& connection() { return *connection_; }
  Tables& tables() { return *tables_; }

 private:
  absl::Status CheckOrMakeSchema(bool create);

  const std::string path_;
  const absl::Duration busy_timeout_;
  std::unique_ptr<Connection> connection_;
  std::optional<Tables> tables_;  // of connection_
  std::optional<SidecarFile> sidecar_;
};

// 16 random bytes.
std::string RandomId();

}  // namespace locus::sqlite

#endif  // LOCUS_SRC_ENGINE_SQLITE_STORE_FILE_H_
