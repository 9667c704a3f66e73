package webconfig

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// tlsSection is tls_server_config. A file goes before a text, and its path is
// relative to the configuration's own.
type tlsSection struct {
	Cert             string   `yaml:"cert"`
	CertFile         string   `yaml:"cert_file"`
	Key              string   `yaml:"key"`
	KeyFile          string   `yaml:"key_file"`
	ClientAuth       string   `yaml:"client_auth_type"`
	ClientCA         string   `yaml:"client_ca"`
	ClientCAFile     string   `yaml:"client_ca_file"`
	ClientAllowed    []string `yaml:"client_allowed_sans"`
	MinVersion       string   `yaml:"min_version"`
	MaxVersion       string   `yaml:"max_version"`
	CipherSuites     []string `yaml:"cipher_suites"`
	CurvePreferences []string `yaml:"curve_preferences"`
	PreferOurs       bool     `yaml:"prefer_server_cipher_suites"` // has had no effect since Go 1.17

	dir string
}

var (
	versions = map[string]uint16{"TLS12": tls.VersionTLS12, "TLS13": tls.VersionTLS13} // older ones are broken
	curves   = map[string]tls.CurveID{"CurveP256": tls.CurveP256, "CurveP384": tls.CurveP384, "CurveP521": tls.CurveP521, "X25519": tls.X25519}
	policies = map[string]tls.ClientAuthType{
		"": tls.NoClientCert, "NoClientCert": tls.NoClientCert,
		"RequestClientCert":    tls.RequestClientCert,
		"RequireAnyClientCert": tls.RequireAnyClientCert, "RequireClientCert": tls.RequireAnyClientCert,
		"VerifyClientCertIfGiven":    tls.VerifyClientCertIfGiven,
		"RequireAndVerifyClientCert": tls.RequireAndVerifyClientCert,
	}
	ciphers = func() map[string]uint16 {
		all := map[string]uint16{}
		for _, suite := range tls.CipherSuites() {
			all[suite.Name] = suite.ID
		}
		return all
	}()
)

// enabled tells whether TLS is asked for, be it completely or not.
func (s *tlsSection) enabled() bool {
	return s.Cert+s.CertFile+s.Key+s.KeyFile+s.ClientCA+s.ClientCAFile+s.ClientAuth != ""
}

// config reads the certificates.
func (s *tlsSection) config() (*tls.Config, error) {
	certificate, err := s.content("cert", s.CertFile, s.Cert)
	if err != nil {
		return nil, err
	}
	key, err := s.content("key", s.KeyFile, s.Key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", cmp.Or(s.CertFile, "cert"), cmp.Or(s.KeyFile, "key"), err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}}

	var mistakes [5]error
	c.MinVersion, mistakes[0] = choose("min_version", versions, cmp.Or(s.MinVersion, "TLS12"))
	c.MaxVersion, mistakes[1] = choose("max_version", versions, cmp.Or(s.MaxVersion, "TLS13"))
	c.ClientAuth, mistakes[2] = choose("client_auth_type", policies, s.ClientAuth)
	c.CipherSuites, mistakes[3] = chooseAll("cipher_suites", ciphers, s.CipherSuites)
	c.CurvePreferences, mistakes[4] = chooseAll("curve_preferences", curves, s.CurvePreferences)
	if err := cmp.Or(mistakes[:]...); err != nil {
		return nil, err
	}

	if s.ClientCA+s.ClientCAFile != "" {
		if c.ClientAuth == tls.NoClientCert {
			return nil, errors.New("client CA's have been configured without a Client Auth Policy: set client_auth_type")
		}
		authorities, err := s.content("client_ca", s.ClientCAFile, s.ClientCA)
		if err != nil {
			return nil, err
		}
		c.ClientCAs = x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("%s: there is no certificate in it", cmp.Or(s.ClientCAFile, "client_ca"))
		}
	}
	if s.ClientAllowed != nil {
		if c.ClientAuth < tls.VerifyClientCertIfGiven {
			return nil, errors.New("client_allowed_sans: nobody verifies who has these names: set client_auth_type to RequireAndVerifyClientCert")
		}
		c.VerifyConnection = s.allowed // of a resumed one too
	}
	return c, nil
}

// content is that of a file, or else the text in the configuration.
func (s *tlsSection) content(key, file, text string) ([]byte, error) {
	switch {
	case file == "" && text == "":
		return nil, fmt.Errorf("tls_server_config: missing one of %s or %[1]s_file", key)
	case file == "":
		return []byte(text), nil
	case !filepath.IsAbs(file):
		file = filepath.Join(s.dir, file)
	}
	return os.ReadFile(file)
}

// allowed lets those in whose certificate has one of the names.
func (s *tlsSection) allowed(with tls.ConnectionState) error {
	if len(with.PeerCertificates) == 0 {
		return errors.New("no client certificate")
	}
	of := with.PeerCertificates[0]
	names := slices.Concat(of.DNSNames, of.EmailAddresses)
	for _, ip := range of.IPAddresses {
		names = append(names, ip.String())
	}
	for _, uri := range of.URIs {
		names = append(names, uri.String())
	}
	if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(s.ClientAllowed, name) }) {
		return fmt.Errorf("none of the client's names %q is in client_allowed_sans", names)
	}
	return nil
}

func choose[T any](key string, from map[string]T, name string) (T, error) {
	value, known := from[name]
	if !known {
		return value, fmt.Errorf("%s: %q is not one of %q", key, name, slices.Sorted(maps.Keys(from)))
	}
	return value, nil
}

func chooseAll[T any](key string, from map[string]T, names []string) (values []T, err error) {
	for _, name := range names {
		value, err := choose(key, from, name)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}
