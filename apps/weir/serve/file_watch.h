// Notices that a file has changed, by its attributes.
#pragma once

#include <cstdint>
#include <string>

#include "weir/base/time.h"

namespace weir::app {

/// Watches the file that the path leads to, so that a link that is replaced counts as a change (as
/// Kubernetes updates a ConfigMap). A change is reported until the caller has read the file: call
/// HasChanged, read the file, and call Acknowledge if the read succeeded. The next HasChanged
/// reports a change between these calls. Not thread-safe.
class FileWatch {
 public:
  /// The file as it is now counts as read: construct the watch before the first read.
  explicit FileWatch(std::string path);
  /// Returns whether the file differs from the one that was read last. A missing file counts as a
  /// change from the second call on: before that it may be about to be replaced. An unchanged file
  /// that cannot be used counts as a change again 10 s after NoteFailure: reading it takes time.
  bool HasChanged(Instant now);
  /// The file that the last HasChanged saw, or a later one, has been read.
  void Acknowledge();
  /// The file that the last HasChanged saw cannot be used.
  void NoteFailure(Instant now);

 private:
  struct Attributes {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t modified = 0;  // ns
    friend bool operator==(const Attributes&, const Attributes&) = default;
  };
  Attributes Read() const;

  const std::string path_;
  Attributes read_;    // of the file that was read last
  Attributes seen_;    // by the last HasChanged
  Attributes failed_;  // of the file that could not be used
  Instant retry_at_{};
};

}  // namespace weir::app
