// Work on the file between two commits, for calls that are answered with what it found.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "weir/base/done.h"
#include "weir/embedded/committer.h"
#include "weir/embedded/system_code.h"
#include "weir/runtime/deadline.h"

namespace weir {

/// Submits jobs to a committer, which must outlive it. Thread-safe.
class FileJobs {
 public:
  FileJobs(Committer& committer, Scheduler& scheduler)
      : committer_(committer), scheduler_(scheduler) {}

  /// Answers with what `work` (StateFile& to Result<T>) returns, on the scheduler. At once
  /// kUnavailable while commits fail and once it is closed; kDeadlineExceeded, and nothing is done,
  /// where it had to wait too long.
  template <class T, class Work>
  void Run(Work work, Deadline deadline, Done<T> done) {
    if (Status ready = committer_.CheckReady(); !ready) return done(Fail(ready.error()));
    auto answer = std::make_shared<std::optional<Result<T>>>();
    committer_.Submit(
        [this, answer, deadline, work = std::move(work)](StateFile& file) mutable -> Status {
          if (deadline.ExpiredAt(scheduler_.clock().Now())) {
            return Fail(Code::kDeadlineExceeded,
                        file.name() + ": the call had to wait too long; nothing is done");
          }
          answer->emplace(work(file));
          return {};
        },
        [answer, done = std::move(done)](Status status) mutable {
          if (!status) return done(Fail(std::move(status.error())));
          done(std::move(**answer));
        });
  }

 private:
  Committer& committer_;
  Scheduler& scheduler_;
};

}  // namespace weir
