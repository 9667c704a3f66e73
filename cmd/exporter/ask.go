package main

import (
	"cmp"
	"context"
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

// request reads a text of an exporter. The answer is trimmed.
func request(ctx context.Context, address string) (resp *http.Response, text string, err error) {
	if resp, err = askURL(ctx, address); err != nil {
		return nil, "", fmt.Errorf("%w; start the exporter, or name another one with --from", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp, strings.TrimSpace(string(body)), err
}

// answerOf reads a text of an exporter. A name that the exporter does not know is an error in the command line. Otherwise the error is the
// exporter's text, or the remedy if it denies access.
func answerOf(ctx context.Context, address string) (string, error) {
	resp, text, err := request(ctx, address)
	if err != nil {
		return "", err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return text, nil
	case http.StatusNotFound, http.StatusBadRequest:
		return "", inputError("%s", text)
	case http.StatusUnauthorized, http.StatusForbidden:
		return "", refused(resp)
	}
	return "", errors.New(cmp.Or(text, resp.Status))
}

// refused returns the error of an answer that is not the requested one.
func refused(resp *http.Response) error {
	remedy := "name an exporter that serves it, with --from"
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		remedy = "write the user and the password in --from: http://user:password@host:9865"
	case http.StatusForbidden:
		remedy = "use a password, or run the command on the exporter's machine"
	}
	return fmt.Errorf("%s answers %s; %s", resp.Request.URL.Redacted(), resp.Status, remedy)
}
