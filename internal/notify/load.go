//go:build !noalerting

package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"

	amconfig "github.com/prometheus/alertmanager/config"
	httpconfig "github.com/prometheus/common/config"
)

// Built reports that this program can send notifications.
const Built = true

// Check reports what is wrong with the file. It sends nothing, and no error
// contains a secret.
func Check(c Config) error {
	_, err := load(c)
	return err
}

// quoted is how the libraries of YAML and URLs repeat a value that they cannot
// use. It may be a secret in the wrong place.
var quoted = regexp.MustCompile("(?s)`[^`]*`|\"[^\"]*\"")

// load reads the file. Without inhibit_rules of its own it has the shipped ones.
func load(c Config) (*amconfig.Config, error) {
	conf, err := c.read()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s", c.File, quoted.ReplaceAllLiteralString(err.Error(), "…"))
	}
	if len(conf.InhibitRules) == 0 && c.InhibitRules != nil {
		shipped, err := amconfig.Load(string(c.InhibitRules))
		if err != nil {
			return nil, errors.Join(errors.New("shipped inhibit rules"), err)
		}
		conf.InhibitRules = shipped.InhibitRules
	}
	return conf, nil
}

// read returns the configuration as it is written.
func (c Config) read() (*amconfig.Config, error) {
	if c.Text != nil {
		return amconfig.Load(string(c.Text))
	}
	return amconfig.LoadFile(c.File)
}

// quiet passes on warnings and errors; the rest is for those who log at DEBUG.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	if l < slog.LevelWarn {
		l = slog.LevelDebug
	}
	return q.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// clientOptions are those of the HTTP clients of receivers.
func (c Config) clientOptions() (options []httpconfig.HTTPClientOption) {
	if c.Dial != nil {
		options = append(options, httpconfig.WithDialContextFunc(c.Dial))
	}
	return options
}
