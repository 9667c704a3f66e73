package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
)

// exporterOf returns the address of the exporter for a command: --from, or the exporter on this machine. It also returns the
// configuration.
func exporterOf(from string) (address string, cfg *config.Config, err error) {
	if u, err := url.Parse(from); from != "" && (err != nil || u.Host == "") {
		return "", nil, usageError{errors.New("--from: invalid URL: write one like http://127.0.0.1:9865")} // without the URL, which may contain a password
	}
	if cfg, err = configured(config.LoadServing()); err != nil {
		return "", nil, err
	}
	return strings.TrimSuffix(cmp.Or(from, app.OwnURL(string(cfg.Listen), cfg.TLS)), "/"), cfg, nil
}

// maxAnswer is the maximum size of an exporter's answer in bytes.
const maxAnswer = 256 << 20

// askURL sends a request to an exporter. The caller closes the body.
func askURL(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// askText requests a text of at most this number of bytes from an exporter.
func askText(ctx context.Context, address string, limit int64) (resp *http.Response, text string, err error) {
	if resp, err = askURL(ctx, address); err != nil {
		return nil, "", unreachable(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	return resp, string(body), err
}

// unreachable adds a remedy to an error of askURL.
func unreachable(err error) error {
	return fmt.Errorf("%w; start the exporter, or name another one with --from", err)
}

// getJSON requests a URL and decodes the answer into the value. If the exporter answers 404, the value does not
// change.
func getJSON(ctx context.Context, address string, into any) error {
	resp, err := askURL(ctx, address)
	if err != nil {
		return unreachable(err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil
	case http.StatusForbidden:
		return fmt.Errorf("%s answers %s; use a password, or run the command on the exporter's machine", resp.Request.URL.Redacted(), resp.Status)
	default:
		return fmt.Errorf("%s answers %s; name an exporter that serves it, with --from", resp.Request.URL.Redacted(), resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("%s: %w: is it an avax-exporter?", resp.Request.URL.Redacted(), err)
	}
	return nil
}
