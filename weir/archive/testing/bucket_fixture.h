// A bucket of S3 in memory, behind the client that programs use. For tests only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/archive/archive_line.h"
#include "weir/archive/archive_reader.h"
#include "weir/aws/retrying_client.h"
#include "weir/aws/testing/scripted_aws.h"
#include "weir/codec/testing/packed_fixture.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {

/// Responds to GetObject and ListObjectsV2 as S3 does, before Send returns. Pages have few objects.
class MemoryS3 final : public HttpTransport {
 public:
  void Send(HttpRequest request, SendLimits limits, HttpDone done) override;

  std::map<std::string, std::string> objects;   ///< keyed by key
  std::map<std::string, HttpResponse> refused;  ///< responses to GetObject, by key
  std::vector<std::string> listed;              ///< prefixes, in the order of the requests
  std::vector<std::string> got;                 ///< keys, in the order of the requests
  std::size_t page_size = 3;
  bool repeats_pages = false;  ///< each page of a listing names the same one as the next

 private:
  HttpResponse Get(const std::string& key);
  HttpResponse List(const std::map<std::string, std::string>& parameters);
};

/// An archive in such a bucket.
struct ArchiveFixture {
  Result<ArchivePage> Read(const ArchiveQuery& query, const std::string& prefix = "");

  MemoryS3 s3;
  ArchiveBounds bounds{};
  sim::SimScheduler scheduler;
  ScriptedCredentials credentials{scheduler};
  ScriptedSigner signer;
  std::unique_ptr<JsonClient> client =
      MakeJsonClient({s3, signer, credentials, scheduler}, {.target_prefix = "S3", .host = "h"});
  S3Bucket bucket{*client, "/"};
};

}  // namespace weir
