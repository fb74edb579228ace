#include "weir/aws/s3/s3_listing.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <pugixml.hpp>

#include "weir/aws/s3/s3_url_text.h"

namespace weir {
namespace {

tl::unexpected<Error> Malformed(std::string_view why) {
  return Fail(Code::kUnknown, fmt::format("ListObjectsV2: malformed response: {}", why));
}

Result<std::string> DecodedText(const pugi::xml_node& parent, const char* name) {
  const pugi::xml_node child = parent.child(name);
  auto text = internal::DecodeFromS3(child.text().get());
  if (!child || !text) return Malformed(fmt::format("a {} has no {}", parent.name(), name));
  return *std::move(text);
}

std::optional<std::uint64_t> WholeNumber(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.begin(), text.end(), number);
  if (text.empty() || fault != std::errc() || end != text.end()) return std::nullopt;
  return number;
}

Result<S3Entry> ReadEntry(const pugi::xml_node& contents) {
  WEIR_ASSIGN_OR_RETURN(std::string key, DecodedText(contents, "Key"));
  const auto size = WholeNumber(contents.child("Size").text().get());
  if (!size) return Malformed("an object has no size");
  return S3Entry{.key = std::move(key), .size = *size};
}

}  // namespace

Result<S3Listing> ReadS3Listing(std::string_view body) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(body.data(), body.size());
  if (!parsed) return Malformed(parsed.description());
  const pugi::xml_node root = document.child("ListBucketResult");
  if (!root) return Malformed("not a ListBucketResult");
  if (std::string_view(root.child("EncodingType").text().get()) != "url") {
    return Malformed("its keys are not URL-encoded");
  }
  S3Listing listing;
  for (const pugi::xml_node& contents : root.children("Contents")) {
    WEIR_ASSIGN_OR_RETURN(S3Entry entry, ReadEntry(contents));
    listing.objects.push_back(std::move(entry));
  }
  for (const pugi::xml_node& common : root.children("CommonPrefixes")) {
    WEIR_ASSIGN_OR_RETURN(std::string prefix, DecodedText(common, "Prefix"));
    listing.prefixes.push_back(std::move(prefix));
  }
  if (std::string_view(root.child("IsTruncated").text().get()) != "true") return listing;
  listing.next = root.child("NextContinuationToken").text().get();
  if (listing.next.empty()) return Malformed("there is a next page without a token");
  return listing;
}

}  // namespace weir
