#include "weir/store/backend.h"

namespace weir {
namespace {

tl::unexpected<Error> Unimplemented(std::string_view what) {
  return Fail(Code::kUnimplemented, std::string("this backend keeps no ") + std::string(what));
}

class NoAudit final : public AuditLog {
 public:
  void Append(const AuditEvent&, Deadline, Done<void> done) override { done(Unimplemented(kWhat)); }
  void List(std::string_view, const PageRequest&, Deadline, Done<Page<AuditEvent>> done) override {
    done(Unimplemented(kWhat));
  }
  void GetRetention(Deadline, Done<std::int64_t> done) override { done(Unimplemented(kWhat)); }
  void SetRetention(std::int64_t, const AuditEvent&, Deadline, Done<void> done) override {
    done(Unimplemented(kWhat));
  }

 private:
  static constexpr std::string_view kWhat = "audit log";
};

class NoUsage final : public UsageStore {
 public:
  void Add(const UsageSnapshot&, Deadline, Done<void> done) override { done(Unimplemented(kWhat)); }
  void List(const UsageFilter&, const PageRequest&, Deadline,
            Done<Page<UsageSnapshot>> done) override {
    done(Unimplemented(kWhat));
  }

 private:
  static constexpr std::string_view kWhat = "usage";
};

class NoNamespaces final : public NamespaceStore {
 public:
  void Register(std::string_view, Deadline, Done<Namespace> done) override {
    done(Unimplemented(kWhat));
  }
  void Get(std::string_view, Deadline, Done<std::optional<Namespace>> done) override {
    done(Unimplemented(kWhat));
  }
  void List(const PageRequest&, Deadline, Done<Page<Namespace>> done) override {
    done(Unimplemented(kWhat));
  }
  void Delete(std::string_view, Deadline, Done<Namespace> done) override {
    done(Unimplemented(kWhat));
  }
  void Recover(std::string_view, Deadline, Done<Namespace> done) override {
    done(Unimplemented(kWhat));
  }
  void Orphans(const PageRequest&, Deadline, Done<Page<Namespace>> done) override {
    done(Unimplemented(kWhat));
  }
  void Purge(std::string_view, Deadline, Done<std::uint64_t> done) override {
    done(Unimplemented(kWhat));
  }
  void Resolve(std::string_view, Deadline, Done<std::string> done) override {
    done(Unimplemented(kWhat));
  }

 private:
  static constexpr std::string_view kWhat = "namespaces";
};

// These have no state, so all backends share them.
NoAudit no_audit;
NoUsage no_usage;
NoNamespaces no_namespaces;

}  // namespace

Status Backend::RegisterMetrics(Registry& registry) const {
  static_cast<void>(registry);
  return {};
}
Result<ReservationBackend*> Backend::reservations() { return Unimplemented("slots"); }

AuditLog& Backend::audit() { return no_audit; }
UsageStore& Backend::usage() { return no_usage; }
NamespaceStore& Backend::namespaces() { return no_namespaces; }

}  // namespace weir
