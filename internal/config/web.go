package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/files"
	"github.com/avax-exporter/avax-exporter/internal/secret"
)

// checkWebConfig validates a web configuration, its certificates and password hashes. It reports whether TLS is enabled. No error
// contains a secret.
func checkWebConfig(file string) (tls bool, err error) {
	c, err := readWebConfig(file) // rejects a FIFO, on which web.Validate would block
	if err != nil {
		return false, err
	}
	if err := web.Validate(file); err != nil {
		text := secret.HideQuoted(err.Error())
		if strings.Contains(text, "bcrypt") {
			text += ": basic_auth_users needs bcrypt hashes: create one with htpasswd -nBC 10 NAME"
		}
		return false, errors.New(text)
	}
	return c.TLSConfig.IsEnabled(), nil
}

func readWebConfig(file string) (c web.Config, err error) {
	text, err := files.Read(file)
	if err != nil {
		return c, err
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %s", file, secret.HideQuoted(err.Error()))
	}
	return c, nil
}

// RequiresPassword reports whether a web configuration requires passwords now. exporter-toolkit reads the file for each request too.
func RequiresPassword(file string) bool {
	if file == "" {
		return false
	}
	c, err := readWebConfig(file)
	return err == nil && len(c.Users) > 0
}
