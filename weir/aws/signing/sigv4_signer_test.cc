#include "weir/aws/signing/sigv4_signer.h"

#include "weir/aws/testing/signer_contract.h"

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(Crt, SignerContract, testing::Values(SignerCase{"Crt", &MakeSigner}));

}  // namespace
}  // namespace weir
