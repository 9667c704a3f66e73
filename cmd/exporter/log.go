package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lmittmann/tint"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// newLogger returns the logger. Its format is from the configuration. With the format auto, it logs text if the
// output is a terminal, else JSON.
func newLogger(cfg *config.Config, w io.Writer) *slog.Logger {
	f, isFile := w.(*os.File)
	terminal := isFile && isTerminal(f)
	if cfg.LogFormat == "json" || cfg.LogFormat == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.Level(cfg.LogLevel), ReplaceAttr: shown}))
	}
	text := tint.NewTextHandler(w, &tint.Options{Level: slog.Level(cfg.LogLevel), TimeFormat: time.TimeOnly, NoColor: !terminal, ReplaceAttr: shown})
	if slog.Level(cfg.LogLevel) <= slog.LevelDebug {
		return slog.New(text)
	}
	return slog.New(narrow{text})
}

// narrow is a handler for a person: it cuts long texts, so that a line has at most about maxColumns. Errors, JSON and the level DEBUG have the
// whole texts, and the status page and check have the remedies.
type narrow struct{ slog.Handler }

const (
	maxColumns = 100
	minText    = 20 // columns that a cut text keeps
)

// Handle implements slog.Handler.
func (h narrow) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		return h.Handler.Handle(ctx, r)
	}
	left := maxColumns - len("15:04:05 WRN ") - len(r.Message)
	var attrs []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "remedy" {
			var call *scrape.Error
			if err, is := a.Value.Any().(error); is && errors.As(err, &call) { // the outcome says more than the method
				a.Value = slog.StringValue(strings.Replace(err.Error(), call.Op+": ", "", 1))
			}
			a = shown(nil, a)
			attrs = append(attrs, a)
			left -= len(" =") + len(a.Key) + utf8.RuneCountInString(strconv.Quote(a.Value.String()))
		}
		return true
	})
	for left < 0 && len(attrs) > 0 {
		length := func(a slog.Attr) int {
			if strings.Contains(a.Value.String(), "://") && a.Key != "err" {
				return 0 // an address is needed as a whole
			}
			return len(a.Value.String())
		}
		longest := slices.MaxFunc(attrs, func(a, b slog.Attr) int { return cmp.Compare(length(a), length(b)) })
		text := []rune(longest.Value.String())
		keep := max(minText, len(text)+left)
		if keep >= len(text) || length(longest) == 0 {
			break
		}
		i := slices.IndexFunc(attrs, longest.Equal)
		attrs[i].Value = slog.StringValue(string(text[:keep-1]) + "…")
		left += len(text) - keep
	}
	cut := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	cut.AddAttrs(attrs...)
	return h.Handler.Handle(ctx, cut)
}

// WithAttrs implements slog.Handler.
func (h narrow) WithAttrs(attrs []slog.Attr) slog.Handler { return narrow{h.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (h narrow) WithGroup(name string) slog.Handler { return narrow{h.Handler.WithGroup(name)} }

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
