#include "weir/archive/archive_url.h"

#include <fmt/format.h>

#include <utility>

#include "weir/aws/s3/s3_connection.h"
#include "weir/dynamodb/service_url.h"
#include "weir/model/quoted.h"

namespace weir {
namespace {

constexpr dynamo::UrlForm kArchiveForm{
    .scheme = "s3:",
    .advice = "write s3://BUCKET/PREFIX?region=REGION&endpoint=URL",
    .what = "archive"};

}  // namespace

Result<ArchiveUrl> ParseArchiveUrl(std::string_view url) {
  WEIR_ASSIGN_OR_RETURN(dynamo::ServiceUrl fields, dynamo::ReadServiceUrl(url, kArchiveForm));
  const std::string name = fields.name.value_or("");
  const std::size_t slash = std::min(name.find('/'), name.size());
  ArchiveUrl archive{.bucket = name.substr(0, slash),
                     .prefix = name.substr(std::min(slash + 1, name.size())),
                     .region = std::move(fields.region),
                     .endpoint = std::move(fields.endpoint)};
  const Status valid = CheckS3Bucket(archive.bucket);
  if (!valid) {
    return Fail(valid.error().code, fmt::format("{} {}: {}; {}", kArchiveForm.what,
                                                Quoted(url.substr(0, url.find('?'))),
                                                valid.error().message, kArchiveForm.advice));
  }
  if (!archive.prefix.empty() && !archive.prefix.ends_with('/')) archive.prefix += '/';
  return archive;
}

}  // namespace weir
