#include "weir/service/reflection_service.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grpc/reflection/v1/reflection.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "weir/grpc/call.h"
#include "weir/grpc/status_text.h"

namespace weir::service {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

// A tool requests each of the server's files and types once, or a few times.
constexpr int kMaxMessages = 1'000;

/// The files that were requested, each serialized once. Used on the thread of one loop.
class SerializedFiles {
 public:
  // Appends the file after the files that it imports, each file once.
  void Append(const FileDescriptor& file, std::set<const FileDescriptor*>& known,
              std::vector<std::string_view>& files) {
    if (!known.insert(&file).second) return;
    for (int i = 0; i < file.dependency_count(); ++i) Append(*file.dependency(i), known, files);
    files.push_back(Serialize(file));
  }

 private:
  const std::string& Serialize(const FileDescriptor& file) {
    std::string& bytes = bytes_[&file];  // a map does not move its values
    if (!bytes.empty()) return bytes;
    google::protobuf::FileDescriptorProto proto;
    file.CopyTo(&proto);
    // CopyTo leaves out the JSON names, without which grpcurl prints the names of the fields.
    file.CopyJsonNameTo(&proto);
    return bytes = proto.SerializeAsString();
  }

  std::map<const FileDescriptor*, std::string> bytes_;  // bounded by the files of the program
};

/// One call. Request and Response are those of one version.
template <class Request, class Response>
class Reflection final : public grpc::CallHandler {
 public:
  Reflection(const grpc::MethodTable& table, std::shared_ptr<SerializedFiles> files,
             grpc::CallWriter writer)
      : table_(table), files_(std::move(files)), writer_(std::move(writer)) {}

  void OnMessage(std::string_view message) override {
    if (++messages_ > kMaxMessages) {
      return writer_.Finish(
          Fail(Code::kResourceExhausted,
               fmt::format("a call of reflection has at most {} messages", kMaxMessages)));
    }
    Request request;
    if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
      return writer_.Finish(
          Fail(Code::kInvalidArgument, "the message is not a ServerReflectionRequest"));
    }
    Response response;
    response.set_valid_host(request.host());
    *response.mutable_original_request() = request;
    Respond(request, response);
    writer_.Send(response.SerializeAsString());
  }
  void OnHalfClose() override { writer_.Finish({}); }

 private:
  void Respond(const Request& request, Response& response) {
    const DescriptorPool& pool = *DescriptorPool::generated_pool();
    switch (request.message_request_case()) {
      case Request::kFileByFilename:
        return SetFile(pool.FindFileByName(request.file_by_filename()), request.file_by_filename(),
                       response);
      case Request::kFileContainingSymbol:
        return SetFile(pool.FindFileContainingSymbol(request.file_containing_symbol()),
                       request.file_containing_symbol(), response);
      case Request::kListServices:
        return ListServices(response);
      case Request::kAllExtensionNumbersOfType:
      case Request::kFileContainingExtension:
        return SetError(Code::kNotFound, "these messages have no extensions", response);
      default:
        return SetError(Code::kInvalidArgument, "the request names no file, type or list",
                        response);
    }
  }

  void SetFile(const FileDescriptor* file, std::string_view name, Response& response) {
    if (file == nullptr) {
      return SetError(Code::kNotFound,
                      grpc::StatusMessage(fmt::format("'{}' is unknown", name.substr(0, 200))),
                      response);
    }
    std::set<const FileDescriptor*> known;
    std::vector<std::string_view> files;
    files_->Append(*file, known, files);
    for (const std::string_view bytes : files) {
      response.mutable_file_descriptor_response()->add_file_descriptor_proto(bytes.data(),
                                                                             bytes.size());
    }
  }

  void ListServices(Response& response) {
    auto& list = *response.mutable_list_services_response();
    for (const std::string& name : table_.services()) list.add_service()->set_name(name);
  }

  void SetError(Code code, std::string message, Response& response) {
    response.mutable_error_response()->set_error_code(static_cast<int>(code));
    response.mutable_error_response()->set_error_message(std::move(message));
  }

  const grpc::MethodTable& table_;
  const std::shared_ptr<SerializedFiles> files_;
  const grpc::CallWriter writer_;
  int messages_ = 0;
};

template <class Request, class Response>
void AddVersion(std::string_view service, const std::shared_ptr<SerializedFiles>& files,
                grpc::MethodTable& table) {
  table.Add(service, "ServerReflectionInfo",
            grpc::StreamMethod([&table, files](const grpc::CallHead&, grpc::CallWriter writer) {
              return std::make_unique<Reflection<Request, Response>>(table, files,
                                                                     std::move(writer));
            }));
}

}  // namespace

void AddReflection(grpc::MethodTable& table) {
  const auto files = std::make_shared<SerializedFiles>();
  AddVersion<::grpc::reflection::v1::ServerReflectionRequest,
             ::grpc::reflection::v1::ServerReflectionResponse>(
      "grpc.reflection.v1.ServerReflection", files, table);
  AddVersion<::grpc::reflection::v1alpha::ServerReflectionRequest,
             ::grpc::reflection::v1alpha::ServerReflectionResponse>(
      "grpc.reflection.v1alpha.ServerReflection", files, table);
}

}  // namespace weir::service
