// Work on the file between two commits, for calls that are answered with what it found.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "weir/base/done.h"
#include "weir/embedded/committer.h"
#include "weir/embedded/errno_code.h"
#include "weir/runtime/deadline.h"

namespace weir {

/// What `read` (sqlite::Connection&, DamageReport& to Result<T>) finds in a file.
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

  /// Answers with what `work` (StateFile& to Result<T>) returns, on the file's thread. At once
  /// kUnavailable while commits fail and once it is closed; kDeadlineExceeded when its time is up:
  /// the message says if nothing is done, or if it may still be.
  template <class T, class Work>
  void Run(Work work, Deadline deadline, Done<T> done) {
    if (Status ready = committer_.CheckReady(); !ready) return done(Fail(ready.error()));
    auto answer = std::make_shared<std::optional<Result<T>>>();
    auto job = [this, answer, deadline, work = std::move(work)](StateFile& file) mutable -> Status {
      if (deadline.ExpiredAt(committer_.Now())) {
        return Fail(Code::kDeadlineExceeded,
                    file.name() + ": the call had to wait too long; nothing is done");
      }
      answer->emplace(work(file));
      return {};
    };
    // Not answered with what the job found, it may run still: then `answer` is the job's alone.
    auto answered = [answer, done = std::move(done)](Status status) mutable {
      if (!status) return done(Fail(std::move(status.error())));
      done(std::move(**answer));
    };
    committer_.Submit({deadline, std::move(job), std::move(answered)});
  }

 private:
  Committer& committer_;
  Scheduler& scheduler_;
};

}  // namespace weir
