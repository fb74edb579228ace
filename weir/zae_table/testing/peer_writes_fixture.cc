#include "weir/zae_table/testing/peer_writes_fixture.h"

namespace weir::dynamo {
namespace {

bool RequiresOnlyExistence(std::string_view body) {
  constexpr std::string_view kCondition = R"("ConditionExpression":")";
  const std::size_t from = body.find(kCondition);
  if (from == std::string_view::npos) return true;
  const std::string_view condition = body.substr(from + kCondition.size());
  return !condition.substr(0, condition.find('"')).contains('=');
}

}  // namespace

HttpResponse PeerWrites::Handle(const HttpRequest& request) {
  const auto& stream = server_.Table(table_)->stream();
  const std::size_t before = stream.size();
  HttpResponse response = server_.Handle(request);
  const bool is_adjust =
      sim::OperationOf(request) == "UpdateItem" && RequiresOnlyExistence(request.body);
  for (std::size_t i = before; i < stream.size(); ++i) writes_[stream[i].sequence] = is_adjust;
  return response;
}

bool PeerWrites::IsAdjust(const sim::StreamRecord& record) const {
  const auto found = writes_.find(record.sequence);
  return found != writes_.end() && found->second;
}

}  // namespace weir::dynamo
