package main

import (
	"context"
	"io"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
)

// runCheck asks every upstream once and prints what is missing.
func runCheck(ctx context.Context, _ []string, stdout, _ io.Writer) error {
	cfg, err := configured(config.Load())
	if err != nil {
		return err
	}
	return app.Check(ctx, cfg, stdout)
}
