package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"
)

// checkWebConfig validates a web configuration with its certificates and password hashes, and tells whether it configures
// TLS. No error repeats a secret.
func checkWebConfig(file string) (tls bool, err error) {
	if err := web.Validate(file); err != nil {
		text := hideValues(err.Error())
		if strings.Contains(text, "bcrypt") {
			text += ": basic_auth_users takes bcrypt hashes: make one with htpasswd -nBC 10 NAME"
		}
		return false, errors.New(text)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	var c web.Config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return false, fmt.Errorf("%s: %s", file, hideValues(err.Error()))
	}
	return c.TLSConfig.IsEnabled(), nil
}

// serve answers until the server is shut down, with the TLS, passwords and rate limit of the web configuration. The file
// is read again for every connection and request.
func serve(listener net.Listener, server *http.Server, c *config, log *slog.Logger) error {
	log = slog.New(valuesHidden{log.Handler()})
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	return web.Serve(listener, server, &web.FlagConfig{WebConfigFile: &c.webConfig}, log)
}

// quoted is how the YAML library repeats values that it cannot decode. One may be a password in the wrong place, with
// line breaks and quotes of its own.
var quoted = regexp.MustCompile("(?s)`.*`")

// hideValues removes the quoted values of a YAML error, and its line breaks.
func hideValues(text string) string {
	return strings.Join(strings.Fields(quoted.ReplaceAllLiteralString(text, "…")), " ")
}

// valuesHidden is a log of exporter-toolkit and net/http, which log the error of a web configuration that was changed.
type valuesHidden struct{ slog.Handler }

func (h valuesHidden) Handle(ctx context.Context, r slog.Record) error {
	hidden := slog.NewRecord(r.Time, r.Level, hideValues(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindString {
			a.Value = slog.StringValue(hideValues(a.Value.String()))
		}
		hidden.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, hidden)
}
