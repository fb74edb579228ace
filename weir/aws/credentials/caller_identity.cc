#include "weir/aws/credentials/caller_identity.h"

#include <pugixml.hpp>
#include <utility>

namespace weir {

Result<std::string> ReadCallerArn(std::string_view body) {
  pugi::xml_document document;
  const bool is_xml = bool(document.load_buffer(body.data(), body.size()));
  std::string arn = document.child("GetCallerIdentityResponse")
                        .child("GetCallerIdentityResult")
                        .child("Arn")
                        .text()
                        .get();
  if (is_xml && arn.starts_with("arn:")) return arn;
  return Fail(Code::kUnknown, "GetCallerIdentity: malformed response: it has no ARN");
}

void GetCallerArn(JsonClient& client, Deadline deadline, Done<std::string> done) {
  client.Call(
      {.operation = "GetCallerIdentity",
       .body = "Action=GetCallerIdentity&Version=2011-06-15",
       .repeatable = true,
       .target = CallTarget{.method = "POST",
                            .path = "/",
                            .headers = {{"content-type",
                                         "application/x-www-form-urlencoded; charset=utf-8"}}}},
      deadline, [done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
        if (!reply) return done(Fail(ToError(reply.error())));
        done(ReadCallerArn(reply->body));
      });
}

}  // namespace weir
