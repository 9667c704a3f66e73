package main

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/lmittmann/tint"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// newLogger returns the logger. Its format is from the configuration. With the format auto, it logs text if the
// output is a terminal, else JSON.
func newLogger(cfg *config.Config, w io.Writer) *slog.Logger {
	f, isFile := w.(*os.File)
	terminal := isFile && isTerminal(f)
	if cfg.LogFormat == "json" || cfg.LogFormat == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.Level(cfg.LogLevel), ReplaceAttr: shown}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{
		Level: slog.Level(cfg.LogLevel), TimeFormat: time.TimeOnly, NoColor: !terminal, ReplaceAttr: shown,
	}))
}

// longestText is the maximum length in bytes of a logged message or attribute. There is a limit, because both may
// contain an upstream's answer.
const longestText = 8 << 10

// shown makes a message or attribute printable and cuts it.
func shown(_ []string, a slog.Attr) slog.Attr {
	var text string
	switch v := a.Value.Any().(type) {
	case string:
		text = v
	case error:
		text = v.Error()
	default:
		return a
	}
	clean := words.Printable(text)
	if len(clean) > longestText {
		clean = strings.ToValidUTF8(clean[:longestText], "") + "…"
	}
	if clean != text {
		a.Value = slog.StringValue(clean)
	}
	return a
}

// isTerminal reports whether the file is a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
