// ErrorCode, ErrorText and ClassifyResponse on responses with any body: a code is short and plain,
// a message is one line, only a response with status 200 is a success, and a code that was read
// reads the same again.
#include <string>

#include "fuzz/require.h"
#include "weir/aws/failure.h"
#include "weir/aws/response_classifier.h"
#include "weir/codec/cbor_writer.h"

namespace weir {
namespace {

void RequireOneLine(std::string_view text, std::size_t longest) {
  Require(text.size() <= longest, "what goes in a message is short");
  for (const char c : text) Require(c >= ' ' && c <= '~', "it is one printable line");
}

void CheckCode(const HttpResponse& response) {
  const std::string code = ErrorCode(response);
  RequireOneLine(code, 128);
  RequireOneLine(ErrorText(response), 300);
  Require(ErrorCode({.body = R"({"__type":"a.b#)" + code + R"("})"}) == code, "a code reads back");
  const std::string cbor = WriteSized([&code](auto& sink) {
    CborWriter out(sink);
    out.OpenMap(1);
    out.Name("__type");
    out.Text("a.b#" + code);
  });
  Require(ErrorCode({.body = cbor}) == code, "a code reads back from CBOR");
}

void CheckResponse(const HttpResponse& response) {
  const Attempt attempt = ClassifyResponse(response, {"Op", "host", 64});
  Require(attempt.result.has_value() == (response.status == 200), "only 2xx is a success");
  if (attempt.result) return Require(*attempt.result == response.body, "a success is its body");
  const AwsFailure& failure = attempt.result.error();
  RequireOneLine(failure.message, 600);
  Require(failure.body.empty() || failure.body == response.body, "a body is all or nothing");
  if (failure.kind == FailureClass::kAuth) Require(failure.body.empty(), "no secret is kept");
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const weir::HttpResponse in_body{.status = 400, .body = text};
  const weir::HttpResponse in_header{.status = 500, .headers = {{"x-amzn-errortype", text}}};
  for (const auto& response : {in_body, in_header}) {
    weir::CheckCode(response);
    weir::CheckResponse(response);
  }
  weir::CheckResponse({.status = 200, .body = text});
  return 0;
}
