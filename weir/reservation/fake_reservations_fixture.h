// For the tests of this room: slots, limits and tokens in maps, one obvious step after the other.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weir/store/reservation_backend.h"

namespace weir {

/// Not thread-safe. Every call answers before it returns.
class FakeReservations final : public ReservationBackend,
                               public ReservationStore,
                               public AccountLimitStore,
                               public TokenStore {
 public:
  ReservationStore& slots() override { return *this; }
  AccountLimitStore& limits() override { return *this; }
  TokenStore& tokens() override { return *this; }
  std::string Describe() const override { return "fake"; }

  void Claim(const SlotClaim& claim, UnixMillis now, Deadline, Done<ClaimAnswer> done) override {
    Expire(claim.slot.key, now);
    auto& held = held_[claim.slot.key];
    if (const auto same = held.find(claim.slot.id); same != held.end()) {
      return done(ClaimAnswer{.slot = same->second});
    }
    if (std::ssize(held) >= claim.limit) {
      ClaimAnswer full{.slot = std::nullopt, .in_use = std::ssize(held)};
      for (const auto& [id, slot] : held) {
        if (!full.next_expiry || slot.expires < *full.next_expiry) full.next_expiry = slot.expires;
      }
      return done(full);
    }
    const HeldSlot slot{claim.slot.key, claim.slot.id, claim.slot.id, now, now + claim.ttl};
    held.emplace(slot.id, slot);
    done(ClaimAnswer{.slot = slot});
  }

  void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl, UnixMillis now,
            Deadline, Done<HeldSlot> done) override {
    HeldSlot* const held = Find(slot, now);
    if (held == nullptr) return done(Fail(Code::kNotFound, "not held"));
    if (held->bound() && held->resource_id != resource_id) {
      return done(Fail(Code::kFailedPrecondition, "bound to something else"));
    }
    if (ended_.contains(resource_id)) {
      held_[slot.key].erase(slot.id);
      return done(Fail(Code::kFailedPrecondition, "it has ended"));
    }
    held->resource_id = resource_id;
    held->expires = now + ttl;
    done(*held);
  }

  void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline,
             Done<HeldSlot> done) override {
    HeldSlot* const held = Find(slot, now);
    if (held == nullptr) return done(Fail(Code::kNotFound, "not held"));
    held->expires = std::max(held->expires, now + ttl);
    done(*held);
  }

  void Release(const SlotRef& slot, UnixMillis now, Deadline, Done<bool> done) override {
    Expire(slot.key, now);
    done(held_[slot.key].erase(slot.id) > 0);
  }

  void ReleaseResource(const EndedResource& ended, UnixMillis, Deadline,
                       Done<std::size_t> done) override {
    std::size_t released = 0;
    for (auto& [key, held] : held_) {
      released += std::erase_if(
          held, [&](auto& one) { return one.second.resource_id == ended.resource_id; });
    }
    if (released == 0) ended_[ended.resource_id] = ended.ended_at;
    done(released);
  }

  void List(const AccountKey& key, const PageRequest&, UnixMillis now, Deadline,
            Done<Page<HeldSlot>> done) override {
    Expire(key, now);
    Page<HeldSlot> page;
    for (const auto& [id, slot] : held_[key]) page.items.push_back(slot);
    done(std::move(page));
  }

  void Get(const AccountKey& key, Deadline, Done<std::optional<AccountLimitRow>> done) override {
    const auto found = rows_.find(key);
    if (found == rows_.end()) return done(std::nullopt);
    done(AccountLimitRow{key, found->second, "tests"});
  }
  void OfService(const std::string&, Deadline, Done<std::vector<AccountLimitRow>> done) override {
    done(Fail(Code::kUnimplemented, "not needed here"));
  }
  void Change(const AccountLimitChange& change, Deadline, Done<void> done) override {
    if (const auto* put = std::get_if<PutAccountLimit>(&change)) {
      rows_[put->row.key] = put->row.limit;
    } else {
      rows_.erase(std::get<DeleteAccountLimit>(change).seen.key);
    }
    done({});
  }

  /// In units of one token by one millisecond of the window.
  void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count, UnixMillis now,
            Deadline, Done<TokenAnswer> done) override {
    const std::int64_t window = milliseconds(limit.window).count();
    const auto [at, is_new] = buckets_.try_emplace({key, limit.limit}, limit.limit * window, now);
    auto& [level, time] = at->second;
    level = std::min(limit.limit * window, level + (now - time).count() * limit.limit);
    time = now;
    const std::int64_t missing = count * window - level;
    if (missing <= 0) level -= count * window;
    TokenAnswer answer{.taken = missing <= 0, .available = level / window};
    if (missing > 0) answer.retry_after = milliseconds((missing + limit.limit - 1) / limit.limit);
    done(answer);
  }

 private:
  void Expire(const AccountKey& key, UnixMillis now) {
    std::erase_if(held_[key], [&](auto& one) { return one.second.expires <= now; });
  }
  HeldSlot* Find(const SlotRef& slot, UnixMillis now) {
    Expire(slot.key, now);
    auto& held = held_[slot.key];
    const auto found = held.find(slot.id);
    return found == held.end() ? nullptr : &found->second;
  }

  std::map<AccountKey, std::map<std::string, HeldSlot>> held_;
  std::map<std::string, UnixMillis> ended_;
  std::map<AccountKey, AccountLimit> rows_;
  std::map<std::pair<AccountKey, std::int64_t>, std::pair<std::int64_t, UnixMillis>> buckets_;
};

}  // namespace weir
