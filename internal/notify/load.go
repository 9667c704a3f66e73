package notify

import (
	"context"
	"errors"
	"fmt"
	tmplhtml "html/template"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	tmpltext "text/template"
	"time"

	amconfig "github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/config/receiver"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/template"
	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/helpers/templates"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/files"
)

// Check validates the file. It sends nothing. No error contains a secret.
func Check(c Config) error {
	_, err := load(c)
	return err
}

// load reads the configuration. If it has no inhibit_rules, load adds the shipped inhibit rules.
func load(c Config) (*amconfig.Config, error) {
	conf, err := c.read()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if err != nil {
		text, _ := c.text()
		return nil, errors.New(strings.TrimPrefix(c.File+": "+mistake(err, text), ": "))
	}
	if len(conf.InhibitRules) == 0 && c.InhibitRules != nil {
		shipped, err := ParseInhibition(c.InhibitRules)
		if err != nil {
			return nil, fmt.Errorf("shipped %w", err)
		}
		conf.InhibitRules = shipped.rules
	}
	return conf, nil
}

// text returns the configuration itself.
func (c Config) text() ([]byte, error) {
	if c.Text != nil {
		return c.Text, nil
	}
	return files.Read(c.File)
}

// read returns the configuration without changes. Alertmanager reads the files that the configuration names at any time, without a
// limit. So read rejects a FIFO, a device and a huge file.
func (c Config) read() (conf *amconfig.Config, err error) {
	if c.Text != nil {
		conf, err = amconfig.Load(string(c.Text))
	} else if _, err = files.Read(c.File); err == nil {
		conf, err = amconfig.LoadFile(c.File)
	}
	if err != nil {
		return nil, err
	}
	var needs dependencies
	needs.of(reflect.ValueOf(conf))
	for _, pattern := range conf.Templates {
		matches, _ := filepath.Glob(pattern)
		for _, file := range matches {
			_, _ = needs.read(file)
		}
	}
	return conf, needs.unfit
}

// built is what a configuration makes of its routes and receivers.
type built struct {
	templates *template.Template
	routes    *dispatch.Route
	receivers []builtReceiver          // that a route uses
	intervals map[string]time.Duration // by receiver: the longest group_interval of its routes
}

type builtReceiver struct {
	amconfig.Receiver
	integrations []notify.Integration
	err          error // why there are no integrations
}

// build makes the receivers that a route uses. It sends nothing.
func (c Config) build(conf *amconfig.Config, log *slog.Logger) (b built, err error) {
	if b.templates, err = c.templates(conf.Templates); err != nil {
		return b, fmt.Errorf("templates: %w", err)
	}
	if b.templates.ExternalURL, err = url.Parse(c.URL); err != nil {
		return b, err
	}
	b.routes = dispatch.NewRoute(conf.Route, nil)
	b.intervals = map[string]time.Duration{}
	b.routes.Walk(func(r *dispatch.Route) {
		name := r.RouteOpts.Receiver
		b.intervals[name] = max(b.intervals[name], r.RouteOpts.GroupInterval)
	})
	for _, r := range conf.Receivers {
		if _, used := b.intervals[r.Name]; used {
			b.receivers = append(b.receivers, c.buildReceiver(r, b.templates, log))
		}
	}
	return b, nil
}

// pages are the pages of this exporter, in place of those of an Alertmanager.
const pages = `
{{ define "avax.url.page" }}{{ .ExternalURL }}/alerts{{ end }}
{{ define "avax.url.silence" }}{{ .ExternalURL }}/alerts?silence={{ .CommonLabels.node | urlquery }}#silences{{ end }}
{{ define "avax.url.only" -}}
{{ $first := index .Alerts 0 }}{{ if eq .Status "firing" }}{{ $first = index .Alerts.Firing 0 }}{{ end -}}
{{ .ExternalURL }}/alerts?silence={{ alertMatchers $first.Labels | urlquery }}#silences
{{- end }}
{{ define "avax.lasted" }} {{ lasted . }},{{ end }}
`

// templates returns Alertmanager's templates, replaced by those of c, replaced by those in files.
func (c Config) templates(files []string) (*template.Template, error) {
	words := map[string]any{"alertMatchers": func(labels map[string]string) string { return AlertMatchers(labels, c.ExternalLabels) }, "lasted": lasted}
	t, err := template.FromGlobs(nil, func(text *tmpltext.Template, html *tmplhtml.Template) {
		text.Funcs(words)
		html.Funcs(words)
	})
	if err != nil {
		return nil, err
	}
	for _, text := range []string{string(c.Templates), pages} {
		if err := t.Parse(strings.NewReader(text)); err != nil {
			return nil, err
		}
	}
	for _, pattern := range files {
		if err := t.FromGlob(pattern); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// buildReceiver makes a receiver. A panic of the library is an error of this receiver.
func (c Config) buildReceiver(r amconfig.Receiver, t *template.Template, log *slog.Logger) (one builtReceiver) {
	one.Receiver = r
	defer func() {
		if cause := recover(); cause != nil {
			one.err = fmt.Errorf("the library failed: %v", cause)
		}
	}()
	one.integrations, one.err = receiver.BuildReceiverIntegrations(r, t, log, httpconfig.WithDialContextFunc(c.dial))
	for k, i := range one.integrations {
		readsAnswers(&one.integrations[k])
		if i.Name() == "email" {
			m := &mailer{r.EmailConfigs[i.Index()], t, log.With("integration", i.Name()), c.dial}
			one.integrations[k] = notify.NewIntegration(m, &i, i.Name(), i.Index(), r.Name)
		}
	}
	return one
}

// Receivers follow a redirect only if the file says so (follow_redirects: true): the target of a redirect would receive the credentials.
func init() { httpconfig.DefaultHTTPClientConfig.FollowRedirects = false }

// Exposed returns an error if the file contains secrets and every user of this machine may read it.
func Exposed(c Config) error {
	info, err := os.Stat(c.File)
	if c.Text != nil || err != nil || info.Mode()&0o004 == 0 {
		return nil
	}
	conf, err := c.read()
	if err != nil {
		return nil // Check returns the error
	}
	var needs dependencies
	needs.of(reflect.ValueOf(conf))
	if !needs.inline {
		return nil
	}
	return fmt.Errorf("%s contains secrets, and every user of this machine may read it: change its mode to 0600, "+
		"or write each secret into a file of its own (…_file)", c.File)
}

// dial opens the connections to receivers. A connection fails if the receiver sends more than maxAnswered bytes.
func (c Config) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &boundedConn{Conn: conn, left: maxAnswered}, nil
}

// maxAnswered is the maximum number of bytes that a receiver may send over one connection. The limit is needed because
// Alertmanager reads the whole answer after an error, and a line of a mail server of any length.
const maxAnswered = 256 << 10

var errTooLong = fmt.Errorf("more than %d KiB in answer", maxAnswered>>10)

// boundedConn is a connection that fails if the receiver sends more than maxAnswered bytes.
type boundedConn struct {
	net.Conn
	left int
}

// Read implements net.Conn. It is called by one goroutine at a time.
func (c *boundedConn) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooLong
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

// lasted returns how long a resolved alert lasted, since the first sign of its fault.
func lasted(a template.Alert) (string, error) {
	return templates.HumanizeDuration(a.EndsAt.Sub(alerts.SinceOf(a.Annotations[alerts.Since], a.StartsAt)).Round(time.Second).Seconds())
}
