#include "weir/store/reservation/row_reservations.h"

#include <optional>
#include <utility>

#include "weir/store/reservation/account_rules.h"
#include "weir/store/reservation/reservation_checks.h"
#include "weir/store/reservation/slot_rules.h"

namespace weir {
namespace {

// Runs `verb` on the rows and returns its result, or the error of `transactions` if the access to
// the rows failed.
template <class T, class Verb>
Result<T> Write(RowTransactions& transactions, Deadline deadline, const Verb& verb) {
  std::optional<Result<T>> result;
  WEIR_RETURN_IF_ERROR(
      transactions.Write(deadline, [&](ReservationRows& rows) { result.emplace(verb(rows)); }));
  return *std::move(result);
}

template <class T, class Verb>
Result<T> Read(RowTransactions& transactions, Deadline deadline, const Verb& verb) {
  std::optional<Result<T>> result;
  WEIR_RETURN_IF_ERROR(
      transactions.Read(deadline, [&](ReservationRows& rows) { result.emplace(verb(rows)); }));
  return *std::move(result);
}

class RowSlots final : public ReservationStore {
 public:
  explicit RowSlots(RowTransactions& transactions) : transactions_(transactions) {}

  void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
             Done<ClaimResult> done) override {
    done(Check(claim).and_then([&] {
      return Write<ClaimResult>(transactions_, deadline,
                                [&](auto& rows) { return ClaimSlot(rows, claim, now); });
    }));
  }
  void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl, UnixMillis now,
            Deadline deadline, Done<HeldSlot> done) override {
    const auto bind = [&](ReservationRows& rows) {
      return BindSlot(rows, {.slot = slot, .resource_id = resource_id, .ttl = ttl}, now);
    };
    done(CheckBinding(slot, resource_id)
             .and_then([&] { return CheckSlotLife(slot.key, ttl); })
             .and_then([&] { return Write<HeldSlot>(transactions_, deadline, bind); }));
  }
  void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
             Done<HeldSlot> done) override {
    const auto renew = [&](ReservationRows& rows) { return RenewSlot(rows, slot, ttl, now); };
    done(Check(slot).and_then([&] { return CheckSlotLife(slot.key, ttl); }).and_then([&] {
      return Write<HeldSlot>(transactions_, deadline, renew);
    }));
  }
  void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) override {
    done(Check(slot).and_then([&] {
      return Write<bool>(transactions_, deadline,
                         [&](auto& rows) { return ReleaseSlot(rows, slot, now); });
    }));
  }
  void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                      Done<bool> done) override {
    done(Check(slot).and_then([&] {
      return Write<bool>(transactions_, deadline,
                         [&](auto& rows) { return ReleaseUnboundSlot(rows, slot, now); });
    }));
  }
  void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                       Done<std::size_t> done) override {
    done(CheckResourceId(ended.resource_id).and_then([&] {
      return Write<std::size_t>(transactions_, deadline,
                                [&](auto& rows) { return ReleaseBound(rows, ended, now); });
    }));
  }
  void List(const AccountKey& key, const PageRequest& page, UnixMillis now, Deadline deadline,
            Done<Page<HeldSlot>> done) override {
    const auto list = [&](const std::string& after) {
      return Read<Page<HeldSlot>>(transactions_, deadline, [&](ReservationRows& rows) {
        return ListSlots(rows, {.key = key, .after = after, .limit = page.limit}, now);
      });
    };
    done(Check(key).and_then([&] { return ReadSlotCursor(key, page); }).and_then(list));
  }

 private:
  RowTransactions& transactions_;
};

class RowLimits final : public AccountLimitStore {
 public:
  explicit RowLimits(RowTransactions& transactions) : transactions_(transactions) {}

  void Get(const AccountKey& key, Deadline deadline,
           Done<std::optional<AccountLimitRow>> done) override {
    done(Check(key).and_then([&] {
      return Read<std::optional<AccountLimitRow>>(
          transactions_, deadline, [&](ReservationRows& rows) { return rows.FindLimit(key); });
    }));
  }
  void KeysOfService(const std::string& service, Deadline deadline,
                     Done<std::vector<AccountKey>> done) override {
    done(CheckService(service).and_then([&] {
      return Read<std::vector<AccountKey>>(transactions_, deadline, [&](ReservationRows& rows) {
        return rows.LimitKeysOf(service);
      });
    }));
  }
  void Change(const AccountLimitChange& change, Deadline deadline, Done<void> done) override {
    done(Check(change).and_then([&] {
      return Write<void>(transactions_, deadline,
                         [&](ReservationRows& rows) { return ChangeLimit(rows, change); });
    }));
  }

 private:
  RowTransactions& transactions_;
};

class RowTokens final : public TokenStore {
 public:
  explicit RowTokens(RowTransactions& transactions) : transactions_(transactions) {}

  void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count, UnixMillis now,
            Deadline deadline, Done<TokenResult> done) override {
    done(CheckTake(key, limit, count).and_then([&] {
      return Write<TokenResult>(transactions_, deadline, [&](ReservationRows& rows) {
        return TakeTokens(rows, {.key = key, .limit = limit, .count = count}, now);
      });
    }));
  }

 private:
  RowTransactions& transactions_;
};

class RowReservations final : public ReservationBackend {
 public:
  explicit RowReservations(std::unique_ptr<RowTransactions> transactions)
      : transactions_(std::move(transactions)) {}

  ReservationStore& slots() override { return slots_; }
  AccountLimitStore& limits() override { return limits_; }
  TokenStore& tokens() override { return tokens_; }
  std::string Describe() const override { return transactions_->Describe(); }
  std::optional<UnixMillis> OwnTime() const override { return transactions_->Now(); }

 private:
  const std::unique_ptr<RowTransactions> transactions_;
  RowSlots slots_{*transactions_};
  RowLimits limits_{*transactions_};
  RowTokens tokens_{*transactions_};
};

}  // namespace

std::unique_ptr<ReservationBackend> MakeRowReservations(
    std::unique_ptr<RowTransactions> transactions) {
  return std::make_unique<RowReservations>(std::move(transactions));
}

}  // namespace weir
