// Reads requests of DynamoDB and writes the responses.
//
// An error of the service is thrown as a Refusal, within weir/sim only: SimDynamo::Handle turns it
// into a response.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weir/aws/http/http.h"
#include "weir/base/result.h"
#include "weir/sim/dynamodb/expression/dynamo_expression.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::sim {

struct Refusal {
  std::string type;  ///< without its namespace: "ValidationException"
  std::string message;
  nlohmann::json more = nlohmann::json::object();  ///< the other members of the response
  int status = 400;
};

/// Throws a ValidationException.
[[noreturn]] void RefuseInvalid(std::string message);

/// Returns the value of the result, or throws its error as a ValidationException.
template <class T>
T OrRefuse(Result<T> result) {
  if (!result) RefuseInvalid(std::move(result.error().message));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

HttpResponse ToResponse(const nlohmann::json& response);
HttpResponse ToResponse(const Refusal& refusal);

/// One structure of a request. `known` lists the fields that are simulated: any other field is
/// refused with an error that names it. The JSON must outlive this object.
class RequestFields {
 public:
  RequestFields(const nlohmann::json& body, std::initializer_list<std::string_view> known);

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  /// Returns null if the field is missing or null.
  const nlohmann::json* Find(std::string_view name) const;
  /// Returns the field, or refuses the request if it is missing. So do Text, ItemOf and List.
  const nlohmann::json& Get(std::string_view name) const;
  std::string Text(std::string_view name) const;
  std::string TextOr(std::string_view name, std::string_view otherwise) const;
  bool BoolOr(std::string_view name, bool otherwise) const;
  Item ItemOf(std::string_view name) const;
  const nlohmann::json& List(std::string_view name) const;
  /// Returns one of the choices, and the first one if the field is missing.
  std::string Choice(std::string_view name, std::initializer_list<std::string_view> choices) const;
  Placeholders ReadPlaceholders() const;

 private:
  const nlohmann::json& json_;
};

}  // namespace weir::sim
