// The archive of expired audit events in a bucket of S3.
#pragma once

#include <string>
#include <utility>

#include "weir/aggregator/daemon/archive_store.h"
#include "weir/aws/s3/s3_bucket.h"

namespace weir::dynamo {

class S3Archive final : public ArchiveStore {
 public:
  /// `prefix` is put before each key. `bucket` must outlive the archive and each call.
  S3Archive(S3Bucket& bucket, std::string prefix) : bucket_(bucket), prefix_(std::move(prefix)) {}
  void Put(ArchiveObject object, Deadline deadline, Done<void> done) override;

 private:
  S3Bucket& bucket_;
  const std::string prefix_;
};

}  // namespace weir::dynamo
