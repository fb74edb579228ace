#include "weir/archive/testing/bucket_fixture.h"

#include <fmt/format.h>

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <utility>

#include "weir/aws/s3/s3_url_text.h"

namespace weir {
namespace {

std::string Decoded(std::string_view text) { return *internal::DecodeFromS3(text); }

std::map<std::string, std::string> ParametersOf(std::string_view query) {
  std::map<std::string, std::string> parameters;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = pair.find('=');
    parameters.emplace(pair.substr(0, equals), Decoded(pair.substr(equals + 1)));
  }
  return parameters;
}

std::string Encoded(std::string_view text) { return internal::EncodeForS3(text, true); }

}  // namespace

void MemoryS3::Send(HttpRequest request, SendLimits, HttpDone done) {
  const std::size_t question = request.path.find('?');
  if (question != std::string::npos) {
    return done(List(ParametersOf(std::string_view(request.path).substr(question + 1))));
  }
  done(Get(Decoded(std::string_view(request.path).substr(1))));
}

HttpResponse MemoryS3::Get(const std::string& key) {
  got.push_back(key);
  if (const auto found = refused.find(key); found != refused.end()) return found->second;
  const auto found = objects.find(key);
  if (found != objects.end()) return {.status = 200, .headers = {}, .body = found->second};
  return {.status = 404,
          .headers = {{"x-amz-request-id", "R1"}},
          .body = "<Error><Code>NoSuchKey</Code><Message>No such key.</Message></Error>"};
}

HttpResponse MemoryS3::List(const std::map<std::string, std::string>& parameters) {
  const std::string& prefix = parameters.at("prefix");
  const bool has_delimiter = parameters.contains("delimiter");
  const auto token = parameters.find("continuation-token");
  if (token == parameters.end()) listed.push_back(prefix);
  std::set<std::string> entries;  // the keys and common prefixes
  for (const auto& [key, body] : objects) {
    if (!key.starts_with(prefix)) continue;
    const std::size_t slash = has_delimiter ? key.find('/', prefix.size()) : key.npos;
    entries.insert(slash == key.npos ? key : key.substr(0, slash + 1));
  }
  std::string xml = "<ListBucketResult><EncodingType>url</EncodingType>";
  if (repeats_pages) {
    return {.status = 200,
            .headers = {},
            .body = xml +
                    "<IsTruncated>true</IsTruncated><NextContinuationToken>same"
                    "</NextContinuationToken></ListBucketResult>"};
  }
  std::size_t count = 0;
  for (auto at = token == parameters.end() ? entries.begin() : entries.upper_bound(token->second);
       at != entries.end(); ++at) {
    if (count++ == page_size) {
      xml += fmt::format(
          "<IsTruncated>true</IsTruncated><NextContinuationToken>{}"
          "</NextContinuationToken>",
          *std::prev(at));
      break;
    }
    xml += at->ends_with('/')
               ? fmt::format("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", Encoded(*at))
               : fmt::format("<Contents><Key>{}</Key><Size>{}</Size></Contents>", Encoded(*at),
                             objects.at(*at).size());
  }
  return {.status = 200, .headers = {}, .body = xml + "</ListBucketResult>"};
}

Result<ArchivePage> ArchiveFixture::Read(const ArchiveQuery& query, const std::string& prefix) {
  const Archive archive{
      .bucket = bucket,
      .prefix = prefix,
      .each_request =
          [this] { return Deadline::After(scheduler.clock(), std::chrono::seconds(30)); },
      .bounds = bounds};
  return ReadArchive(archive, query);
}

}  // namespace weir
