// Package webconfig serves with the TLS and the passwords of Prometheus' web
// configuration, the file that operators write for every exporter:
// https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md.
// File, certificates and passwords are read anew for every connection and request.
package webconfig

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/time/rate"
)

// Check tells what is wrong with a web configuration, certificates and password
// hashes included, and whether it asks for TLS. No error repeats a secret.
func Check(file string) (tls bool, err error) {
	c, err := read(file)
	if err != nil || !c.TLS.enabled() {
		return false, err
	}
	_, err = c.TLS.config()
	return true, err
}

// Serve answers on the listener until the server is shut down. Whether there is TLS
// and HTTP/2, and the limit of requests, are as the file says at the start; a mistake
// that is made in it later lets nobody in.
func Serve(listener net.Listener, server *http.Server, file string, log *slog.Logger) error {
	c, err := read(file)
	if err != nil {
		return err
	}
	d := &door{file: file, inside: server.Handler, log: log, compare: bcrypt.CompareHashAndPassword}
	if every := time.Duration(c.RateLimit.Interval); every != 0 {
		d.limit = rate.NewLimiter(rate.Every(every), c.RateLimit.Burst)
	}
	server.Handler = d
	if !c.TLS.enabled() {
		return server.Serve(listener)
	}
	if !c.HTTP.HTTP2 {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	if server.TLSConfig, err = c.TLS.config(); err != nil {
		return err
	}
	server.TLSConfig.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c, err := read(file)
		if err != nil {
			return nil, err
		}
		config, err := c.TLS.config()
		if err != nil {
			return nil, err
		}
		if server.TLSNextProto["h2"] != nil { // GODEBUG may leave it out too
			config.NextProtos = append(config.NextProtos, "h2")
		}
		config.NextProtos = append(config.NextProtos, "http/1.1")
		return config, nil
	}
	return server.ServeTLS(listener, "", "")
}

// configuration is the file, key by key.
type configuration struct {
	TLS  tlsSection `yaml:"tls_server_config"`
	HTTP struct {
		HTTP2   bool              `yaml:"http2"`
		Headers map[string]string `yaml:"headers"`
	} `yaml:"http_server_config"`
	RateLimit struct {
		Burst    int      `yaml:"burst"`
		Interval interval `yaml:"interval"`
	} `yaml:"rate_limit"`
	Users map[string]string `yaml:"basic_auth_users"` // bcrypt hashes by name
}

type interval time.Duration

func (i *interval) UnmarshalYAML(n *yaml.Node) error {
	d, err := time.ParseDuration(n.Value)
	if err != nil || d < 0 {
		return fmt.Errorf("line %d: interval: write one like 1s", n.Line)
	}
	*i = interval(d)
	return nil
}

// headers that may be set, with their values where not any will do.
var headers = map[string][]string{
	"Strict-Transport-Security": nil,
	"X-Content-Type-Options":    {"nosniff"},
	"X-Frame-Options":           {"deny", "sameorigin"},
	"X-XSS-Protection":          nil,
	"Content-Security-Policy":   nil,
}

func read(file string) (*configuration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var c configuration
	c.HTTP.HTTP2 = true
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) { // an empty file asks for nothing
		return nil, errors.New(strings.Join(strings.Fields(noise.ReplaceAllLiteralString(quoted.ReplaceAllLiteralString(err.Error(), "…"), "")), " "))
	}
	for _, name := range slices.Sorted(maps.Keys(c.HTTP.Headers)) {
		values, known := headers[name]
		if !known {
			return nil, fmt.Errorf("headers: %s cannot be set: there are %q", name, slices.Sorted(maps.Keys(headers)))
		}
		if values != nil && !slices.Contains(values, c.HTTP.Headers[name]) {
			return nil, fmt.Errorf("headers: %s is not one of %q", name, values)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Users)) {
		if _, err := bcrypt.Cost([]byte(c.Users[name])); err != nil {
			return nil, fmt.Errorf("basic_auth_users: the password of %s is no bcrypt hash: make one with htpasswd -nBC 10", name)
		}
	}
	c.TLS.dir = filepath.Dir(file)
	return &c, nil
}

var (
	// quoted is how the YAML library repeats a value that it cannot use, which may
	// be a password.
	quoted = regexp.MustCompile("`[^`]*`")
	noise  = regexp.MustCompile(`yaml: unmarshal errors:| in type webconfig\.\w+`)
)
