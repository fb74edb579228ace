// ReadS3Listing and ReadCallerArn: responses in XML of an endpoint that may be hostile. Neither
// crashes; an error is kUnknown.
#include "fuzz/require.h"
#include "weir/aws/credentials/caller_identity.h"
#include "weir/aws/s3/s3_listing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto listing = weir::ReadS3Listing(body);
  weir::Require(listing || listing.error().code == weir::Code::kUnknown,
                "what cannot be read is kUnknown");
  const auto arn = weir::ReadCallerArn(body);
  weir::Require(!arn || arn->starts_with("arn:"), "a caller has an ARN");
  return 0;
}
