package testworld

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority signs certificates for 127.0.0.1 that are valid for an hour.
type Authority struct {
	Certificate *x509.Certificate
	PEM         string // of Certificate
	Key         string // in PEM

	key *ecdsa.PrivateKey
}

// NewAuthority creates an authority with a certificate that it has signed itself.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{}
	a.PEM, a.Key = a.Sign(t, "authority")
	return a
}

// Sign creates a certificate and its key in PEM. The first call creates the authority's own certificate.
func (a *Authority) Sign(t testing.TB, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: a.key == nil,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if a.key == nil {
		a.Certificate, a.key = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.Certificate == template {
		if a.Certificate, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}
