// Runs work on the file between two commits, and returns its result to the caller.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "weir/base/done.h"
#include "weir/embedded/commit/committer.h"
#include "weir/embedded/file/errno_code.h"
#include "weir/runtime/deadline.h"

namespace weir {

/// Calls `read` with the connection and the damage report of a file, and returns its result, a
/// Result<T>. Maps errors with AsStoreError.
template <class T, class Read>
Result<T> ReadFrom(StateFile& file, const Read& read) {
  std::optional<T> found;
  Status status = file.Read([&](sqlite::Connection& connection) -> Status {
    WEIR_ASSIGN_OR_RETURN(found, read(connection, file.damage()));
    return {};
  });
  if (!status) return Fail(AsStoreError(std::move(status.error())));
  return *std::move(found);
}

/// Submits jobs to a committer, which must outlive it. Thread-safe.
class FileTasks {
 public:
  FileTasks(Committer& committer, Scheduler& scheduler)
      : committer_(committer), scheduler_(scheduler) {}

  UnixMillis now() const { return scheduler_.clock().WallNow(); }

  /// Calls `work` with the StateFile, on the file's thread, and passes its result, a Result<T>, to
  /// `done`. Errors: kUnavailable if commits fail, the file is closed, or too many calls wait.
  /// kDeadlineExceeded when the deadline passes; the message says whether nothing was done or the
  /// work may still be done.
  template <class T, class Work>
  void Run(Work work, Deadline deadline, Done<T> done) {
    if (Status ready = committer_.CheckReady(); !ready) return done(Fail(ready.error()));
    auto result = std::make_shared<std::optional<Result<T>>>();
    auto job = [this, result, deadline, work = std::move(work)](StateFile& file) mutable -> Status {
      if (deadline.ExpiredAt(committer_.Now())) {
        return Fail(Code::kDeadlineExceeded,
                    file.name() + ": the call waited too long; nothing was done");
      }
      result->emplace(work(file));
      return {};
    };
    // After kDeadlineExceeded the job may still be running and set `result`, so only the job may
    // use `result`.
    auto on_done = [result, done = std::move(done)](Status status) mutable {
      if (!status) return done(Fail(std::move(status.error())));
      done(std::move(**result));
    };
    committer_.Submit({deadline, std::move(job), std::move(on_done)});
  }

 private:
  Committer& committer_;
  Scheduler& scheduler_;
};

}  // namespace weir
