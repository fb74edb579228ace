// Namespaces: registering, deleting, recovering and purging them. The store may contain others.
#include <algorithm>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

using Reader = Result<Page<Namespace>> (ContractClient::*)(PageRequest);

// Returns the namespaces on all pages whose names have this prefix.
std::vector<Namespace> AllNamespaces(ContractClient& store, Reader read, const std::string& prefix,
                                     std::size_t limit = 1000) {
  std::vector<Namespace> listed;
  PageRequest request{.cursor = {}, .limit = limit};
  for (int pages = 0; pages < 1000; ++pages) {
    const auto page = (store.*read)(request);
    if (!page) {
      ADD_FAILURE() << page.error().message;
      return listed;
    }
    EXPECT_LE(page->items.size(), limit);
    std::ranges::copy_if(page->items, std::back_inserter(listed),
                         [&](const Namespace& space) { return space.name.starts_with(prefix); });
    request.cursor = page->next;
    if (request.cursor.empty()) break;
  }
  EXPECT_TRUE(request.cursor.empty()) << "a listing without an end";
  return listed;
}

std::vector<std::string> Names(const std::vector<Namespace>& spaces) {
  std::vector<std::string> names;
  for (const Namespace& space : spaces) names.push_back(space.name);
  return names;
}

// Fails if: a registered name gets a new id, or two names share one.
TEST_P(StoreContract, ANamespaceIsRegisteredOnce) {
  const auto first = store_.Register("once-a");
  const auto again = store_.Register("once-a");
  const auto other = store_.Register("once-b");
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(again->id, first->id);
  EXPECT_EQ(again->created_at.value / 1000, first->created_at.value / 1000);
  EXPECT_NE(other->id, first->id);
  EXPECT_EQ(first->name, "once-a");
  EXPECT_EQ(first->status, NamespaceStatus::kActive);
  EXPECT_FALSE(first->id.starts_with('-')) << "a command line would take it for an option";
  const auto got = store_.GetNamespace("once-a");
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->id, first->id);
  EXPECT_EQ(store_.Resolve("once-a").value_or(""), first->id);
}

// Fails if: reading a name registers it.
TEST_P(StoreContract, NothingElseRegistersANamespace) {
  const auto got = store_.GetNamespace("nothing");
  EXPECT_TRUE(got && !*got);
  EXPECT_EQ(ErrorOf(store_.Resolve("nothing")).code, Code::kNotFound);
  EXPECT_EQ(ErrorOf(store_.Delete("nothing")).code, Code::kNotFound);
  EXPECT_TRUE(AllNamespaces(store_, &ContractClient::ListNamespaces, "nothing").empty());
}

// Fails if: the order is that of registration, or a page repeats the last namespace of the page
// before.
TEST_P(StoreContract, NamespacesAreListedByNameInPagesOfAnySize) {
  for (const char* name : {"list-c", "list-a", "list-d", "list-b"}) {
    ASSERT_TRUE(store_.Register(name));
  }
  for (const std::size_t limit : {1U, 2U, 3U, 1000U}) {
    EXPECT_EQ(Names(AllNamespaces(store_, &ContractClient::ListNamespaces, "list-", limit)),
              (std::vector<std::string>{"list-a", "list-b", "list-c", "list-d"}));
  }
}

// Fails if: a deletion removes the record, or keeps the name, or the error for the name advises to
// register it.
TEST_P(StoreContract, ANamespaceThatIsDeletedIsAnOrphanAndCanBeRecovered) {
  const auto space = store_.Register("soft");
  ASSERT_TRUE(space);
  const auto deleted = store_.Delete("soft");
  ASSERT_TRUE(deleted);
  EXPECT_EQ(deleted->id, space->id);
  EXPECT_EQ(deleted->status, NamespaceStatus::kDeleted);
  EXPECT_TRUE(deleted->deleted_at);
  EXPECT_TRUE(AllNamespaces(store_, &ContractClient::ListNamespaces, "soft").empty());
  EXPECT_EQ(ErrorOf(store_.Resolve("soft")).code, Code::kNotFound);
  EXPECT_TRUE(ErrorOf(store_.Resolve("soft")).message.contains("recover " + space->id));
  EXPECT_TRUE(ErrorOf(store_.Delete("soft")).message.contains("recover " + space->id));
  EXPECT_EQ(ErrorOf(store_.Resolve("id:" + space->id)).code, Code::kFailedPrecondition);
  EXPECT_EQ(ErrorOf(store_.Delete("soft")).code, Code::kNotFound) << "a second time";
  const auto orphans = AllNamespaces(store_, &ContractClient::Orphans, "soft");
  ASSERT_EQ(orphans.size(), 1U);
  EXPECT_EQ(orphans.front().id, space->id);
  EXPECT_EQ(orphans.front().status, NamespaceStatus::kDeleted);

  const auto recovered = store_.Recover(space->id);
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->status, NamespaceStatus::kActive);
  EXPECT_FALSE(recovered->deleted_at);
  EXPECT_EQ(store_.Resolve("soft").value_or(""), space->id);
  EXPECT_TRUE(AllNamespaces(store_, &ContractClient::Orphans, "soft").empty());
  EXPECT_EQ(ErrorOf(store_.Recover(space->id)).code, Code::kFailedPrecondition) << "it is active";
}

// Fails if: a recovery takes the name from the namespace that has it now.
TEST_P(StoreContract, ANameThatBelongsToAnotherIsNotRecovered) {
  const auto old = store_.Register("taken");
  ASSERT_TRUE(old && store_.Delete("taken"));
  const auto anew = store_.Register("taken");
  ASSERT_TRUE(anew);
  EXPECT_NE(anew->id, old->id);
  const Error refusal = ErrorOf(store_.Recover(old->id));
  EXPECT_EQ(refusal.code, Code::kFailedPrecondition);
  EXPECT_TRUE(refusal.message.contains("'weir namespace delete taken' frees the name"));
  EXPECT_EQ(store_.Resolve("taken").value_or(""), anew->id);
}

// Fails if: orphans with the same name hide each other, or a listing in pages loses one.
TEST_P(StoreContract, OrphansAreListedByIdInPagesOfAnySize) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    const auto space = store_.Register("orphan");
    ASSERT_TRUE(space && store_.Delete("orphan"));
    ids.push_back(space->id);
  }
  std::ranges::sort(ids);
  for (const std::size_t limit : {1U, 2U, 1000U}) {
    std::vector<std::string> listed;
    for (const Namespace& space :
         AllNamespaces(store_, &ContractClient::Orphans, "orphan", limit)) {
      listed.push_back(space.id);
    }
    EXPECT_EQ(listed, ids) << limit;
  }
}

// Fails if: an active namespace can be purged, or a purge leaves something to recover.
TEST_P(StoreContract, APurgeIsForGoodAndForOrphansOnly) {
  const auto space = store_.Register("purge");
  ASSERT_TRUE(space);
  EXPECT_EQ(ErrorOf(store_.Purge(space->id)).code, Code::kFailedPrecondition);
  ASSERT_TRUE(store_.Delete("purge"));
  EXPECT_EQ(store_.Purge(space->id).value_or(99), 0U) << "there was nothing in it";
  EXPECT_TRUE(AllNamespaces(store_, &ContractClient::Orphans, "purge").empty());
  EXPECT_EQ(ErrorOf(store_.Purge(space->id)).code, Code::kNotFound) << "a second time";
  EXPECT_EQ(ErrorOf(store_.Recover(space->id)).code, Code::kNotFound);
}

// Fails if: an id needs a record. Clients without a registry use ids that have none.
TEST_P(StoreContract, AnIdWithoutARecordIsItself) {
  EXPECT_EQ(store_.Resolve("id:no-record").value_or(""), "no-record");
  EXPECT_EQ(ErrorOf(store_.Recover("no-record")).code, Code::kNotFound);
  EXPECT_EQ(ErrorOf(store_.Purge("no-record")).code, Code::kNotFound);
}

// Fails if: a check is left to the caller.
TEST_P(StoreContract, BadNamesIdsAndPagesOfNamespacesAreRefused) {
  for (const char* name : {"", "_", "a b", "a#b"}) {
    EXPECT_EQ(ErrorOf(store_.Register(name)).code, Code::kInvalidArgument) << name;
    EXPECT_EQ(ErrorOf(store_.GetNamespace(name)).code, Code::kInvalidArgument) << name;
    EXPECT_EQ(ErrorOf(store_.Delete(name)).code, Code::kInvalidArgument) << name;
    EXPECT_EQ(ErrorOf(store_.Recover(name)).code, Code::kInvalidArgument) << name;
    EXPECT_EQ(ErrorOf(store_.Purge(name)).code, Code::kInvalidArgument) << name;
    EXPECT_EQ(ErrorOf(store_.Resolve(name)).code, Code::kInvalidArgument) << name;
  }
  const std::vector<PageRequest> bad = {{.cursor = {}, .limit = 0},
                                        {.cursor = "no cursor", .limit = 1},
                                        {.cursor = "\n", .limit = 1}};
  for (const PageRequest& page : bad) {
    EXPECT_EQ(ErrorOf(store_.ListNamespaces(page)).code, Code::kInvalidArgument);
    EXPECT_EQ(ErrorOf(store_.Orphans(page)).code, Code::kInvalidArgument);
  }
}

// Adds an entity and its limits to a namespace.
void Fill(Backend& backend, ContractClient& store) {
  const std::vector<ConfigChange> changes = {
      CreateEntity{{.entity = {.id = "acme"}}},
      PutLimits{Level::EntityDefault("acme"), {.limits = {{"rpm", PerMinute(1)}}}}};
  ASSERT_TRUE(store.Call<void>([&](Done<void> done) {
    backend.config().Apply(changes, Deadline::Never(), std::move(done));
  }));
}

std::size_t CountEntities(Backend& backend, ContractClient& store) {
  const auto page = store.Call<Page<EntityRecord>>([&](Done<Page<EntityRecord>> done) {
    backend.config().ListEntities({}, {}, Deadline::Never(), std::move(done));
  });
  EXPECT_TRUE(page);
  return page ? page->items.size() : 0;
}

// Fails if: a namespace shows data of another one, a deletion loses data, or a purge leaves data or
// removes those of another namespace.
TEST_P(StoreContractNamespaces, NamespacesAreApartAndAPurgeTakesTheDataOfOne) {
  const auto space = store_.Register("data");
  ASSERT_TRUE(space);
  auto other = harness_->OpenNamespace(space->id);
  ASSERT_NE(other, nullptr);
  Fill(*other, store_);
  EXPECT_EQ(CountEntities(*other, store_), 1U);
  EXPECT_EQ(CountEntities(harness_->backend(), store_), 0U);
  Fill(harness_->backend(), store_);
  EXPECT_TRUE(other->Close());
  other.reset();

  ASSERT_TRUE(store_.Delete("data"));
  ASSERT_TRUE(store_.Recover(space->id));
  other = harness_->OpenNamespace(space->id);
  EXPECT_EQ(CountEntities(*other, store_), 1U) << "a deletion keeps the data";
  EXPECT_TRUE(other->Close());
  other.reset();

  ASSERT_TRUE(store_.Delete("data"));
  EXPECT_GE(store_.Purge(space->id).value_or(0), 2U) << "an entity and its limits at least";
  other = harness_->OpenNamespace(space->id);
  EXPECT_EQ(CountEntities(*other, store_), 0U);
  EXPECT_TRUE(other->Close());
  other.reset();
  EXPECT_EQ(CountEntities(harness_->backend(), store_), 1U);
}

}  // namespace
}  // namespace weir
