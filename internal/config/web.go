package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/regular"
)

// checkWebConfig validates a web configuration, its certificates and password hashes. It reports whether TLS is enabled, and
// whether clients need a password or a certificate. No error contains a secret.
func checkWebConfig(file string) (tls, authenticated bool, err error) {
	text, err := regular.ReadFile(file) // rejects a FIFO, on which web.Validate would block
	if err != nil {
		return false, false, err
	}
	if err := web.Validate(file); err != nil {
		text := HideValues(err.Error())
		if strings.Contains(text, "bcrypt") {
			text += ": basic_auth_users needs bcrypt hashes: create one with htpasswd -nBC 10 NAME"
		}
		return false, false, errors.New(text)
	}
	var c web.Config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return false, false, fmt.Errorf("%s: %s", file, HideValues(err.Error()))
	}
	verified := c.TLSConfig.ClientAuth == "RequireAndVerifyClientCert"
	return c.TLSConfig.IsEnabled(), len(c.Users) > 0 || verified, nil
}

// quoted matches values that the YAML library repeats in errors. Such a value may be a misplaced password, which may contain line
// breaks and quotes.
var quoted = regexp.MustCompile("(?s)`.*`")

// HideValues removes the quoted values of a YAML error, and its line breaks.
func HideValues(text string) string {
	return strings.Join(strings.Fields(quoted.ReplaceAllLiteralString(text, "…")), " ")
}
