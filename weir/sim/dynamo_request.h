// Reading the requests of DynamoDB and answering them.
//
// What AWS refuses is thrown as a Refusal, inside this room alone: SimDynamo::Handle answers it.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weir/aws/http.h"
#include "weir/base/result.h"
#include "weir/sim/dynamo_expression.h"
#include "weir/sim/dynamo_value.h"

namespace weir::sim {

struct Refusal {
  std::string type;  ///< without its namespace: "ValidationException"
  std::string message;
  nlohmann::json more = nlohmann::json::object();  ///< beside type and message
  int status = 400;
};

[[noreturn]] void RefuseInvalid(std::string message);

template <class T>
T OrRefuse(Result<T> result) {
  if (!result) RefuseInvalid(std::move(result.error().message));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

HttpResponse ToResponse(const nlohmann::json& answer);
HttpResponse ToResponse(const Refusal& refusal);

/// One structure of a request. Whoever reads it says first which fields it may have; all else is
/// refused, by name. The JSON must outlive it.
class Fields {
 public:
  Fields(const nlohmann::json& json, std::initializer_list<std::string_view> known);

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  /// Null if it is not there.
  const nlohmann::json* Find(std::string_view name) const;
  /// Refuses what is not there.
  const nlohmann::json& Get(std::string_view name) const;
  std::string Text(std::string_view name) const;
  std::string TextOr(std::string_view name, std::string_view otherwise) const;
  bool BoolOr(std::string_view name, bool otherwise) const;
  Item ItemOf(std::string_view name) const;
  const nlohmann::json& List(std::string_view name) const;
  /// One of the choices, of which the first stands for a field that is not there.
  std::string Choice(std::string_view name, std::initializer_list<std::string_view> choices) const;
  Placeholders ReadPlaceholders() const;

 private:
  const nlohmann::json& json_;
};

}  // namespace weir::sim
