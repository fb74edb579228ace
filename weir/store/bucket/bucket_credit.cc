#include "weir/store/bucket/bucket_credit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "weir/base/rng.h"
#include "weir/bucket/bucket.h"
#include "weir/model/identifier.h"
#include "weir/store/config/config_audit.h"

namespace weir {
namespace {

using Kind = BucketCredit::Kind;

// One shard of the bucket, with the tokens that its limits lack and the tokens that they get.
struct Part {
  /// The charge on this shard. Its amounts are the tokens that are still to be given.
  Charge charge;
  /// For each limit, the tokens up to its capacity.
  std::vector<std::int64_t> missing;
};

Status CheckCredit(const BucketCredit& credit) {
  WEIR_RETURN_IF_ERROR(CheckEntityId(credit.entity));
  WEIR_RETURN_IF_ERROR(CheckResource(credit.resource));
  if (credit.kind == Kind::kTopUp && credit.amounts.empty()) {
    return Fail(Code::kInvalidArgument, "a top-up names no limit; give at least one, like rpm=10");
  }
  for (std::size_t i = 0; i < credit.amounts.size(); ++i) {
    const auto& [limit, millitokens] = credit.amounts[i];
    WEIR_RETURN_IF_ERROR(CheckBucketText("limit of a bucket", limit));
    for (std::size_t j = 0; j < i; ++j) {
      if (credit.amounts[j].limit != limit) continue;
      return Fail(Code::kInvalidArgument, fmt::format("limit {} is named twice", limit));
    }
    if (credit.kind == Kind::kReset || millitokens > 0) continue;
    return Fail(Code::kInvalidArgument,
                fmt::format("limit {} is topped up by {} tokens; give a positive amount", limit,
                            FormatTokens(millitokens)));
  }
  return {};
}

void AddMeter(Part& part, std::vector<Limit>& limits, const std::string& name, const Meter& meter) {
  limits.push_back({name, meter.quota});
  part.missing.push_back(meter.quota.capacity - meter.tokens);
}

Part PartOf(BucketRecord record, UnixMillis now) {
  Part part;
  std::vector<Limit> limits;
  Refill(record.bucket, now);
  for (std::size_t i = 0; i < record.names.size(); ++i) {
    AddMeter(part, limits, record.names[i], record.bucket.meters[i]);
  }
  for (ExtraMeter& extra : record.extras.meters) {
    Refill(extra.meter, (now - extra.time).count());
    AddMeter(part, limits, extra.name, extra.meter);
  }
  // An adjust names the shard in Charge::shard, not in the bucket's key.
  part.charge.shard = std::exchange(record.key.shard, 0);
  part.charge.amounts.resize(limits.size());
  part.charge.target = MakeTarget(std::move(record.key), std::move(limits));
  return part;
}

std::optional<std::size_t> IndexIn(const Part& part, std::string_view name) {
  const std::vector<Limit>& limits = part.charge.target->limits;
  const auto found = std::ranges::find(limits, name, &Limit::name);
  if (found == limits.end()) return std::nullopt;
  return static_cast<std::size_t>(found - limits.begin());
}

// One credit from its first read to its event. One call is pending at a time, and its callback
// keeps the run alive:
//
//   ReadPage -> OnPage -> (next page) ... -> Plan -> Give -> (next adjust) ... -> Record -> done
class CreditRun : public std::enable_shared_from_this<CreditRun> {
 public:
  using Callback = Done<std::vector<CreditedLimit>>;

  CreditRun(Backend& backend, BucketCredit credit, const CreditStamp& stamp, Deadline deadline)
      : backend_(backend),
        credit_(std::move(credit)),
        stamp_(stamp),
        deadline_(deadline),
        random_(stamp.seed) {}

  void Start(Callback done) {
    done_ = std::move(done);
    ReadPage({});
  }

 private:
  void ReadPage(std::string cursor) {
    backend_.buckets().List(
        {.entity = credit_.entity, .resource = credit_.resource},
        {.cursor = std::move(cursor), .limit = 1000}, deadline_,
        [self = shared_from_this()](auto page) { self->OnPage(std::move(page)); });
  }

  void OnPage(Result<Page<BucketRecord>> page) {
    if (!page) return done_(Fail(std::move(page.error())));
    // An unreadable bucket may lack tokens, and cannot be given any.
    if (!page->unreadable.empty()) {
      return done_(Fail(Code::kFailedPrecondition,
                        fmt::format("{}; nothing is changed", page->unreadable.front())));
    }
    const UnixMillis now = backend_.buckets().Now();
    for (BucketRecord& record : page->items) parts_.push_back(PartOf(std::move(record), now));
    if (!page->next.empty()) return ReadPage(std::move(page->next));
    if (Status planned = Plan(); !planned) return done_(Fail(std::move(planned.error())));
    Give();
  }

  // Sets the tokens that each part gets: the shards are filled in their order, until the tokens of
  // a top-up are used up.
  Status Plan() {
    if (parts_.empty()) return {};
    for (const std::string& name : Names()) {
      credited_.push_back({.limit = name});
      std::int64_t remaining = Wanted(name);
      bool is_known = false;
      for (Part& part : parts_) {
        const auto index = IndexIn(part, name);
        if (!index) continue;
        is_known = true;
        const std::int64_t given = std::clamp<std::int64_t>(part.missing[*index], 0, remaining);
        part.charge.amounts[*index] = given;
        remaining -= given;
        credited_.back().added += given;
        const std::int64_t capacity = part.charge.target->limits[*index].quota.capacity;
        credited_.back().tokens += capacity - part.missing[*index] + given;
      }
      if (!is_known) return UnknownLimit(name);
    }
    return {};
  }

  // Returns the limits that the credit concerns: the named ones, or all limits of all shards.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    names.reserve(credit_.amounts.size());
    for (const CreditAmount& amount : credit_.amounts) names.push_back(amount.limit);
    return names.empty() ? KnownNames() : names;
  }

  std::vector<std::string> KnownNames() const {
    std::vector<std::string> names;
    for (const Part& part : parts_) {
      for (const Limit& limit : part.charge.target->limits) {
        if (std::ranges::find(names, limit.name) == names.end()) names.push_back(limit.name);
      }
    }
    return names;
  }

  // Returns the tokens to give to a limit, over all shards.
  std::int64_t Wanted(const std::string& name) const {
    if (credit_.kind == Kind::kReset) return INT64_MAX;
    return std::ranges::find(credit_.amounts, name, &CreditAmount::limit)->millitokens;
  }

  Status UnknownLimit(const std::string& name) const {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}/{}: the bucket has no limit '{}'; it has {}; nothing is changed",
                            credit_.entity, credit_.resource, name, fmt::join(KnownNames(), ", ")));
  }

  // Makes one adjust after the other. An adjust is limited to kMaxMillitokens, so a deep debt needs
  // several.
  void Give() {
    for (Part& part : parts_) {
      Charge charge = part.charge;
      bool has_amount = false;
      for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
        const std::int64_t amount = std::min(charge.amounts[i], kMaxMillitokens);
        part.charge.amounts[i] -= amount;
        charge.amounts[i] = -amount;
        has_amount = has_amount || amount > 0;
      }
      if (!has_amount) continue;
      const std::uint64_t high = random_.Next();
      const AdjustId id{.high = high, .low = random_.Next()};
      return backend_.buckets().Adjust({&charge, 1}, id, backend_.buckets().Now(), deadline_,
                                       [self = shared_from_this()](Status given) {
                                         if (!given)
                                           return self->done_(Fail(std::move(given.error())));
                                         self->Give();
                                       });
    }
    Record();
  }

  // Appends the audit event, unless no tokens were given.
  void Record() {
    AuditDetail::Parts added;
    for (const CreditedLimit& limit : credited_) {
      if (limit.added > 0) added.emplace(limit.limit, AuditDetail{limit.added});
    }
    if (added.empty()) return done_(std::move(credited_));
    AuditEvent event{
        .id = {},
        .subject = credit_.entity,
        .at = {},
        .action = std::string(credit_.kind == Kind::kReset ? audit_action::kBucketReset
                                                           : audit_action::kBucketToppedUp),
        .principal = credit_.principal,
        .resource = credit_.resource,
        .details = {{"millitokens_added", {std::move(added)}}}};
    std::vector<AuditEvent> events;
    events.push_back(std::move(event));
    AuditStamp(random_.Next()).Put(events, stamp_.at);
    backend_.audit().Append(events.front(), deadline_, [self = shared_from_this()](Status status) {
      if (status) return self->done_(std::move(self->credited_));
      self->done_(
          Fail(status.error().code,
               fmt::format("{}/{}: the tokens are given, but not audited: {}", self->credit_.entity,
                           self->credit_.resource, status.error().message)));
    });
  }

  Backend& backend_;
  const BucketCredit credit_;
  const CreditStamp stamp_;
  const Deadline deadline_;
  Rng random_;
  Callback done_;
  std::vector<Part> parts_;
  std::vector<CreditedLimit> credited_;
};

}  // namespace

void Credit(Backend& backend, BucketCredit credit, const CreditStamp& stamp, Deadline deadline,
            Done<std::vector<CreditedLimit>> done) {
  Status valid = CheckCredit(credit);
  if (valid && credit.principal) valid = CheckPrincipal(*credit.principal);
  if (!valid) return done(Fail(std::move(valid.error())));
  std::make_shared<CreditRun>(backend, std::move(credit), stamp, deadline)->Start(std::move(done));
}

}  // namespace weir
