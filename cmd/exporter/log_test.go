package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/config"
)

func TestLogLinesAreBounded(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log := newLogger(&config.Config{LogFormat: format, LogLevel: slog.LevelInfo}, &out)
		long := strings.Repeat("é", 1<<20)
		log.Info(long, "text", long, "err", errors.New(long), "n", 1)
		if size := out.Len(); size < 3*longestText || size > 4*longestText || !strings.Contains(out.String(), "…") {
			t.Errorf("%s: %d bytes", format, size)
		}
	}
}
