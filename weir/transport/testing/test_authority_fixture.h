// Certificates for tests.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <fstream>
#include <memory>
#include <string>

#include "weir/sockets/openssl_handles.h"

namespace weir::transport {

/// An authority that signs certificates. All of them are valid from an hour ago for a day.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test authority")
      : key_(EVP_EC_gen("P-256")), certificate_(Sign(name, *key_, *key_, nullptr)) {}

  /// Writes the authority's certificate.
  void WriteTo(const std::string& file) const { WriteCertificate(*certificate_, file); }
  /// Makes a key and a certificate for it with this common name, and writes both.
  void Issue(const std::string& name, const std::string& certificate_file,
             const std::string& key_file) const {
    const Key key(EVP_EC_gen("P-256"));
    const Certificate made = Sign(name, *key, *key_, certificate_.get());
    WriteCertificate(*made, certificate_file);
    const Memory memory(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(memory.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    Write(*memory, key_file);
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, sockets::OpenSslFree<&EVP_PKEY_free>>;
  using Certificate = std::unique_ptr<X509, sockets::OpenSslFree<&X509_free>>;
  using Memory = std::unique_ptr<BIO, sockets::OpenSslFree<&BIO_free_all>>;
  using Extension = std::unique_ptr<X509_EXTENSION, sockets::OpenSslFree<&X509_EXTENSION_free>>;

  /// Without an issuer the certificate is one of an authority.
  static Certificate Sign(const std::string& name, EVP_PKEY& key, EVP_PKEY& signer,
                          const X509* issuer) {
    static int serial = 0;
    Certificate made(X509_new());
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3'600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 86'400);
    X509_set_pubkey(made.get(), &key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made.get(), X509_get_subject_name(issuer ? issuer : made.get()));
    if (issuer == nullptr) {
      const Extension authority(
          X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE"));
      X509_add_ext(made.get(), authority.get(), -1);
    }
    X509_sign(made.get(), &signer, EVP_sha256());
    return made;
  }
  static void WriteCertificate(const X509& certificate, const std::string& file) {
    const Memory memory(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(memory.get(), &certificate);
    Write(*memory, file);
  }
  static void Write(BIO& memory, const std::string& file) {
    const char* text = nullptr;
    const auto size = BIO_get_mem_data(&memory, &text);
    std::ofstream(file) << std::string(text, static_cast<std::size_t>(size));
  }

  const Key key_;
  const Certificate certificate_;
};

}  // namespace weir::transport
