#include "weir/zae_table/testing/zae_sender_fixture.h"
#include "weir/zae_table/zae_layout.h"

#include <algorithm>
#include <utility>

namespace weir::dynamo {
namespace {

constexpr int kMaxAttempts = 4;
constexpr milliseconds kAttemptLimit{2'000};
constexpr milliseconds kPauseOfBotocore{50};

}  // namespace

struct ZaeSender::Sending {
  std::vector<Write> writes;
  std::vector<Charge> charges;
  std::string token;
  ZaeResponseDone done;
  int attempts = 0;
  int doubts = 0;
};

ZaeSender::ZaeSender(Fleet& fleet, FleetLedger* ledger, std::uint64_t seed)
    : ledger_(ledger),
      rng_(seed),
      process_(fleet.scheduler(), fleet.peers(), seed + 1, milliseconds(0)),
      table_(process_.client(), process_.scheduler(), std::string(kFleetTable), seed + 2,
             ZaeLayout()),
      keys_(std::string(kFleetNamespace)),
      write_capacity_(fleet.write_capacity()) {}

void ZaeSender::Send(std::vector<Write> writes, std::vector<Charge> charges, ZaeResponseDone done) {
  auto sending = std::make_shared<Sending>();
  sending->writes = std::move(writes);
  sending->charges = std::move(charges);
  sending->token = "zae-" + std::to_string(rng_.Next());
  sending->done = std::move(done);
  Try(sending);
}

void ZaeSender::Try(const std::shared_ptr<Sending>& sending) {
  ++sending->attempts;
  const Deadline deadline = Deadline::After(process_.scheduler().clock(), kAttemptLimit);
  auto done = [this, sending](const ZaeResponse& response) { OnResponse(sending, response); };
  if (sending->writes.size() == 1) {
    return table_.Apply(sending->writes.front(), false, deadline, std::move(done));
  }
  table_.Transact(sending->writes, sending->token, deadline, std::move(done));
}

void ZaeSender::OnResponse(const std::shared_ptr<Sending>& sending, const ZaeResponse& response) {
  if (!response && response.error().maybe_applied) ++sending->doubts;
  const bool is_final = response || response.error().kind == FailureClass::kConditional ||
                        response.error().kind == FailureClass::kPermanent;
  if (!is_final && sending->attempts < kMaxAttempts) {
    ++repeated_;
    auto& scheduler = process_.scheduler();
    scheduler.At(scheduler.clock().Now() + kPauseOfBotocore, [this, sending] { Try(sending); });
    return;
  }
  const bool counts_once = sending->writes.size() > 1;  // because of its token
  const int least = response ? 1 : 0;
  const int most = least + sending->doubts;
  if (ledger_ != nullptr && !sending->charges.empty()) {
    ledger_->NotePeer(sending->charges, {least, counts_once ? std::min(most, 1) : most});
  }
  sending->done(response);
}

}  // namespace weir::dynamo
