#include "weir/reservation/sqs_poll.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

bool IsPermanent(Code code) {
  return code == Code::kPermissionDenied || code == Code::kNotFound ||
         code == Code::kInvalidArgument;
}

}  // namespace

SqsPoll::SqsPoll(const SqsPollOptions& options, std::uint64_t seed)
    : options_(options), rng_(seed), backoff_(options.first_backoff, options.longest_backoff) {}

SqsPoll::Step SqsPoll::OnWake(Instant now) {
  if (stage_ != Stage::kPauses) return {};
  if (now < due_) return {.wake = due_};
  stage_ = Stage::kReceives;
  began_ = now;
  was_empty_ = false;
  has_failed_ = false;
  return {.receive = true};
}

SqsPoll::Step SqsPoll::OnReceived(Result<std::vector<SqsMessage>> received, Instant now) {
  if (!received) {
    ++stats_.receive_errors;
    if (IsPermanent(received.error().code) && !stopping_) {
      stage_ = Stage::kStopped;
      step_.ended = std::move(received.error());
      return Give();
    }
    Fault({}, std::move(received.error()));
    return EndRound(now);
  }
  ++stats_.receives;
  stats_.received += received->size();
  was_empty_ = received->empty();
  if (was_empty_) return EndRound(now);
  stage_ = Stage::kHandles;
  unhandled_ = received->size();
  for (const SqsMessage& message : *received) held_.push_back({message.id, message.receipt});
  step_.messages = *std::move(received);
  return Give();
}

SqsPoll::Step SqsPoll::OnHandled(std::size_t place, const Status& handled, Instant now) {
  Held& message = held_.at(place);
  if (handled) {
    handled_.push_back(std::move(message.receipt));
  } else if (handled.error().code == Code::kInvalidArgument) {
    ++stats_.bad;
    step_.notices.push_back({std::move(message.id), handled.error()});
  } else {
    ++stats_.failed;
    Fault(std::move(message.id), handled.error());
  }
  if (--unhandled_ > 0) return Give();
  held_.clear();
  return Delete(now);
}

SqsPoll::Step SqsPoll::Delete(Instant now) {
  if (handled_.empty()) return EndRound(now);
  stage_ = Stage::kDeletes;
  step_.receipts = handled_;
  return Give();
}

SqsPoll::Step SqsPoll::OnDeleted(const Result<SqsDeleted>& deleted, Instant now) {
  const std::size_t asked = std::exchange(handled_, {}).size();
  const std::size_t gone = deleted ? std::min(deleted->deleted, asked) : 0;
  stats_.deleted += gone;
  stats_.not_deleted += asked - gone;
  if (!deleted) {
    ++stats_.delete_errors;
    Fault({}, deleted.error());
  } else if (gone < asked) {
    Fault({}, {Code::kUnavailable, "a message was not deleted: " + deleted->first_fault});
  }
  return EndRound(now);
}

void SqsPoll::Fault(std::string message_id, Error error) {
  has_failed_ = true;
  step_.notices.push_back({std::move(message_id), std::move(error)});
}

SqsPoll::Step SqsPoll::EndRound(Instant now) {
  stage_ = Stage::kPauses;
  if (stopping_) return Stop();
  due_ = was_empty_ ? std::max(now, began_ + options_.least_gap) : now;
  if (has_failed_) {
    due_ = now + backoff_.Next(rng_);
  } else {
    backoff_.Reset();
  }
  step_.wake = due_;
  return Give();
}

SqsPoll::Step SqsPoll::Stop() {
  stopping_ = true;
  if (stage_ != Stage::kPauses && stage_ != Stage::kStopped) return {};
  stage_ = Stage::kStopped;
  step_.stopped = true;
  return Give();
}

}  // namespace weir
