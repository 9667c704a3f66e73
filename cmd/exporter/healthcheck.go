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

// runHealthcheck asks the exporter at the configured address: the container's own
// health check, in an image without a shell. It needs no credentials: a listener
// that asks for TLS or a password does serve.
func runHealthcheck(ctx context.Context, _ []string, _, _ io.Writer) error {
	cfg, err := configured(config.LoadAddress())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	resp, err := askExporter(ctx, app.OwnURL(cfg.Listen, false)+"/-/healthy")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK,
		http.StatusBadRequest,                               // it asks for TLS
		http.StatusUnauthorized, http.StatusTooManyRequests: // it asks for a password, or fewer requests
		return nil
	}
	return fmt.Errorf("/-/healthy answers %s", resp.Status)
}
