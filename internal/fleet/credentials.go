package fleet

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"
	"unicode"
)

// credentials holds the contents of the files of an Access.
type credentials struct {
	header   http.Header
	tls      *tls.Config
	problems []problem
}

// problem is an error in a setting.
type problem struct {
	setting setting
	err     error
}

// credentials reads the files of an Access, once for all nodes that share it.
func (r *loader) credentials(a Access) credentials {
	if made, known := r.made[a]; known {
		return made
	}
	var c credentials
	read := func(name string, take func(data []byte) error) {
		for _, s := range settings {
			path := *s.of(&a)
			if s.name != name || path == "" {
				continue
			}
			data, err := r.open(path)
			if err == nil {
				err = take(data)
			}
			if err != nil {
				c.problems = append(c.problems, problem{s, err})
			}
		}
	}
	authorize := func(value string) {
		if c.header == nil {
			c.header = http.Header{}
		}
		c.header.Set("Authorization", value)
	}

	read("headers_file", func(data []byte) (err error) {
		c.header, err = parseHeaders(a.HeadersFile, data)
		return err
	})
	read("bearer_file", func(data []byte) error {
		token := strings.TrimSpace(string(data))
		if token == "" || strings.ContainsFunc(token, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
			return fmt.Errorf("%s: write one token, on one line", a.BearerFile)
		}
		authorize("Bearer " + token)
		return nil
	})
	read("basic_auth_file", func(data []byte) error {
		pair := strings.TrimRight(string(data), "\r\n")
		if !strings.Contains(pair, ":") || strings.ContainsFunc(pair, unicode.IsControl) {
			return fmt.Errorf("%s: write user:password, on one line", a.BasicAuthFile)
		}
		if a.BearerFile != "" {
			return errors.New("both a token and a password are configured: remove one of them")
		}
		authorize("Basic " + base64.StdEncoding.EncodeToString([]byte(pair)))
		return nil
	})

	var ca, cert, key []byte
	read("ca_file", func(data []byte) error {
		if ca = data; !x509.NewCertPool().AppendCertsFromPEM(data) {
			return fmt.Errorf("%s contains no certificate: write PEM blocks that begin with -----BEGIN CERTIFICATE-----", a.CAFile)
		}
		return nil
	})
	read("cert_file", func(data []byte) error {
		if cert = data; a.KeyFile == "" {
			return errors.New("a certificate also needs its key: configure the file with the key")
		}
		return nil
	})
	read("key_file", func(data []byte) error {
		key = data
		switch _, err := tls.X509KeyPair(cert, key); {
		case a.CertFile == "":
			return errors.New("a key also needs its certificate: configure the file with the certificate")
		case cert != nil && err != nil:
			return fmt.Errorf("%s and %s are not a certificate and its key: %w", a.CertFile, a.KeyFile, err)
		}
		return nil
	})
	if len(c.problems) == 0 {
		c.tls = r.tlsOf(ca, cert, key)
	}
	r.made[a] = c
	return c
}

// tlsOf returns the TLS configuration for these file contents, which must be valid.
func (r *loader) tlsOf(ca, cert, key []byte) *tls.Config {
	if ca == nil && cert == nil {
		return nil
	}
	sum := sumOf(ca, cert, key)
	c := r.tls[sum]
	if c == nil {
		c = r.knownTLS[sum]
	}
	if c == nil {
		c = &tls.Config{MinVersion: tls.VersionTLS12}
		if ca != nil {
			c.RootCAs = x509.NewCertPool()
			c.RootCAs.AppendCertsFromPEM(ca)
		}
		if pair, err := tls.X509KeyPair(cert, key); err == nil {
			c.Certificates = []tls.Certificate{pair}
		}
	}
	r.tls[sum] = c
	return c
}

// sumOf returns the digest of a list of contents.
func sumOf(contents ...[]byte) [sha256.Size]byte {
	var all []byte
	for _, c := range contents {
		one := sha256.Sum256(c)
		all = append(all, one[:]...)
	}
	return sha256.Sum256(all)
}

// headers reads a file of headers. It ignores errors, because another function reports them.
func (r *loader) headers(path string) http.Header {
	data, err := r.open(path)
	if err != nil {
		return nil
	}
	h, _ := parseHeaders(path, data)
	return h
}

// parseHeaders parses "Name: value" lines. Its errors contain the line number, never the text.
func parseHeaders(path string, data []byte) (http.Header, error) {
	header := http.Header{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		key, value = textproto.TrimString(key), textproto.TrimString(value)
		switch {
		case !ok || key == "" || strings.ContainsAny(key, " \t"):
			return nil, fmt.Errorf("%s, line %d: write Name: value", path, n)
		case strings.ContainsFunc(line, unicode.IsControl):
			return nil, fmt.Errorf("%s, line %d: remove the control character", path, n)
		}
		header.Add(key, value)
	}
	return header, lines.Err()
}
