#include "weir/aggregator/daemon/s3_archive.h"

namespace weir::dynamo {

void S3Archive::Put(ArchiveObject object, Deadline deadline, Done<void> done) {
  bucket_.Put({.key = prefix_ + object.key,
               .body = std::move(object.body),
               .content_type = std::move(object.content_type),
               .content_encoding = std::move(object.content_encoding)},
              deadline, [done = std::move(done)](tl::expected<void, AwsFailure> outcome) mutable {
                done(outcome ? Status() : Fail(ToError(outcome.error())));
              });
}

}  // namespace weir::dynamo
