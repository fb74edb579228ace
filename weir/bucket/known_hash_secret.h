// Hashes that are equal in every run, for simulations.
#pragma once

namespace weir {

/// Makes the words of SecretOfProcess the same in every run, so that a simulation can be replayed
/// from its seed: the order of some tables follows from the hashes of names. Has no effect after
/// the first call of SecretOfProcess. Never for a program that serves clients: a client could
/// choose names that collide.
void UseKnownHashSecret();

}  // namespace weir
