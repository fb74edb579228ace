#include "weir/aws/signing/sigv4_signer.h"

#include <aws/auth/credentials.h>
#include <aws/auth/signable.h>
#include <aws/auth/signing.h>
#include <aws/auth/signing_config.h>
#include <aws/auth/signing_result.h>
#include <aws/common/array_list.h>
#include <aws/common/string.h>
#include <aws/http/request_response.h>
#include <aws/io/stream.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "weir/aws/http/crt/crt_handle.h"
#include "weir/aws/signing/signature_headers.h"

namespace weir {
namespace {

using internal::CrtHandle;
using internal::Cursor;
using internal::View;

using MessageHandle = CrtHandle<aws_http_message, aws_http_message_release>;
using StreamHandle = CrtHandle<aws_input_stream, aws_input_stream_release>;
using SignableHandle = CrtHandle<aws_signable, aws_signable_destroy>;
using CredentialsHandle = CrtHandle<aws_credentials, aws_credentials_release>;

constexpr std::string_view kContentHash = "x-amz-content-sha256";

/// The runtime itself excludes user-agent and the hop-by-hop headers.
bool ShouldSign(const aws_byte_cursor* name, void*) { return View(*name) != "content-length"; }

bool IsForS3(const SigningScope& scope) { return scope.service == "s3"; }

/// Returns whether an earlier signing for the scope added the header.
bool IsOfSigning(const HttpHeader& header, const SigningScope& scope) {
  return internal::IsOfSigning(header) || (IsForS3(scope) && header.name == kContentHash);
}

/// Returns the message that the runtime signs: a copy of the request without the body, which the
/// runtime reads from the request itself.
MessageHandle MakeMessage(aws_allocator* allocator, const HttpRequest& request,
                          const SigningScope& scope) {
  MessageHandle message(aws_http_message_new_request(allocator));
  bool made = aws_http_message_set_request_method(message.get(), Cursor(request.method)) == 0 &&
              aws_http_message_set_request_path(message.get(), Cursor(request.path)) == 0;
  for (const HttpHeader& header : request.headers) {
    if (IsOfSigning(header, scope)) continue;
    aws_http_header copy{};
    copy.name = Cursor(header.name);
    copy.value = Cursor(header.value);
    made = made && aws_http_message_add_header(message.get(), copy) == 0;
  }
  const aws_byte_cursor bytes = Cursor(request.body);
  const StreamHandle body(aws_input_stream_new_from_cursor(allocator, &bytes));
  aws_http_message_set_body_stream(message.get(), body.get());
  return made ? std::move(message) : nullptr;
}

CredentialsHandle MakeCredentials(aws_allocator* allocator, const Credentials& credentials) {
  return CredentialsHandle(aws_credentials_new(
      allocator, Cursor(credentials.access_key_id), Cursor(credentials.secret_access_key),
      Cursor(credentials.session_token), std::numeric_limits<std::uint64_t>::max()));
}

struct Signed {
  int error = AWS_ERROR_UNKNOWN;
  std::vector<HttpHeader> headers;
};

/// A callback of the runtime; `into` points to a Signed.
void OnSigned(aws_signing_result* result, int error, void* into) {
  auto& out = *static_cast<Signed*>(into);
  out.error = error;
  if (error != AWS_ERROR_SUCCESS) return;
  aws_array_list* list = nullptr;
  aws_signing_result_get_property_list(result, g_aws_http_headers_property_list_name, &list);
  for (std::size_t i = 0; list != nullptr && i < aws_array_list_length(list); ++i) {
    aws_signing_result_property header{};
    aws_array_list_get_at(list, &header, i);
    out.headers.push_back({internal::LowerCase(aws_string_c_str(header.name)),
                           std::string(aws_string_c_str(header.value), header.value->len)});
  }
}

class CrtSigner final : public Signer {
 public:
  CrtSigner(aws_allocator* allocator, SigningScope scope)
      : allocator_(allocator), scope_(std::move(scope)) {}

  Status Sign(HttpRequest& request, const Credentials& credentials, UnixMillis now) override;

 private:
  Signed RunSigning(const HttpRequest& request, const Credentials& credentials,
                    UnixMillis now) const;
  aws_signing_config_aws SigningConfig(const aws_credentials* credentials, UnixMillis now) const;

  aws_allocator* const allocator_;
  const SigningScope scope_;
};

aws_signing_config_aws CrtSigner::SigningConfig(const aws_credentials* credentials,
                                                UnixMillis now) const {
  aws_signing_config_aws config{};
  config.config_type = AWS_SIGNING_CONFIG_AWS;
  config.algorithm = AWS_SIGNING_ALGORITHM_V4;
  config.signature_type = AWS_ST_HTTP_REQUEST_HEADERS;
  config.region = Cursor(scope_.region);
  config.service = Cursor(scope_.service);
  aws_date_time_init_epoch_millis(&config.date, static_cast<std::uint64_t>(now.value));
  config.should_sign_header = &ShouldSign;
  const bool is_s3 = IsForS3(scope_);
  config.flags.use_double_uri_encode = !is_s3;
  config.flags.should_normalize_uri_path = !is_s3;
  config.signed_body_header = is_s3 ? AWS_SBHT_X_AMZ_CONTENT_SHA256 : AWS_SBHT_NONE;
  config.credentials = credentials;
  return config;
}

Signed CrtSigner::RunSigning(const HttpRequest& request, const Credentials& credentials,
                             UnixMillis now) const {
  const MessageHandle message = MakeMessage(allocator_, request, scope_);
  const CredentialsHandle key = MakeCredentials(allocator_, credentials);
  if (message == nullptr || key == nullptr) return {.error = aws_last_error(), .headers = {}};
  const SignableHandle signable(aws_signable_new_http_request(allocator_, message.get()));
  const aws_signing_config_aws config = SigningConfig(key.get(), now);
  Signed added;
  // Because the credentials are given, the callback runs before this call returns.
  const int started = aws_sign_request_aws(
      allocator_, signable.get(), reinterpret_cast<const aws_signing_config_base*>(&config),
      &OnSigned, &added);
  if (started != AWS_OP_SUCCESS) added.error = aws_last_error();
  return added;
}

Status CrtSigner::Sign(HttpRequest& request, const Credentials& credentials, UnixMillis now) {
  const auto refused = [&](std::string_view why) {
    return Fail(Code::kInvalidArgument,
                fmt::format("signing {} {} for {} in {}: {}", request.method, request.path,
                            scope_.service, scope_.region, why));
  };
  if (std::ranges::find(request.headers, "host", &HttpHeader::name) == request.headers.end()) {
    return refused("the request has no host header");
  }
  Signed added = RunSigning(request, credentials, now);
  if (added.error != AWS_ERROR_SUCCESS) return refused(internal::CrtError(added.error));
  std::erase_if(request.headers,
                [this](const HttpHeader& header) { return IsOfSigning(header, scope_); });
  std::ranges::move(added.headers, std::back_inserter(request.headers));
  return {};
}

}  // namespace

std::unique_ptr<Signer> MakeSigner(const CrtRuntime& runtime, SigningScope scope) {
  return std::make_unique<CrtSigner>(runtime.allocator(), std::move(scope));
}

}  // namespace weir
