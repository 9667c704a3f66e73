package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
)

const healthcheckHelp = `
Requests /-/healthy at AVAX_LISTEN over HTTP, without a password. If the
exporter answers that it requires TLS or a password, the check also succeeds.

Examples:
  avax-exporter healthcheck
`

// runHealthcheck requests /-/healthy at the configured address. The container image uses it as health check, because
// the image has no shell.
func runHealthcheck(ctx context.Context, _ []string, _, _ io.Writer) error {
	cfg, err := configured(config.LoadOnly("LISTEN"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	resp, err := exporter{address: app.OwnURL(string(cfg.Listen), false)}.get(ctx, "/-/healthy")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK,
		http.StatusBadRequest,                               // TLS is required
		http.StatusUnauthorized, http.StatusTooManyRequests: // a password is required, or too many requests
		return nil
	}
	return fmt.Errorf("/-/healthy answers %s", resp.Status)
}
