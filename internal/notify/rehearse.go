package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptrace"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
)

// rehearsed is one integration of a receiver, of which everything but the sending is tried.
type rehearsed struct {
	Config
	receiver  builtReceiver
	kind      string
	index     int
	config    reflect.Value // such as *amconfig.WebhookConfig
	templates *template.Template
}

// probe reads files, renders texts, connects, and asks the service. It returns the first error.
func (r rehearsed) probe(ctx context.Context, routes *dispatch.Route) error {
	var needs dependencies
	if needs.of(r.config); needs.err != nil {
		return needs.err
	}
	if err := r.placeholders(); err != nil {
		return err
	}
	route := routeOf(routes, r.receiver.Name)
	for _, alerts := range samples(time.Now()) {
		data := notify.GetTemplateData(sampleContext(ctx, route, r.receiver.Name), r.templates, alerts, slog.New(slog.DiscardHandler))
		if err := r.render(data); err != nil {
			return fmt.Errorf("%w: correct the text, or add a file that defines it to templates", err)
		}
	}
	if r.kind != "sns" { // its library may use connections of its own
		for i, alerts := range samples(time.Now()) {
			if err := r.connect(sampleContext(ctx, route, r.receiver.Name), alerts, i == 0); err != nil {
				return err
			}
		}
	}
	return r.ask(ctx, route)
}

// UnmatchedTemplates returns the patterns of templates of the file that match no file.
func UnmatchedTemplates(c Config) (patterns []string) {
	conf, err := c.read()
	if err != nil {
		return nil
	}
	for _, pattern := range conf.Templates {
		if files, _ := filepath.Glob(pattern); len(files) == 0 {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

// errRehearsal is the error of every connection of a rehearsal: nothing is sent.
var errRehearsal = errors.New("only a rehearsal")

// connect does what a notification does, until the first byte of a request would be sent. Only with really it opens a connection.
func (r rehearsed) connect(ctx context.Context, alerts []*alert.Alert, really bool) error {
	var connected atomic.Bool
	var failed atomic.Pointer[error]
	fails := func(err error) {
		err = fmt.Errorf("connect: %w: correct the address, or allow connections to it in the firewall", err)
		failed.CompareAndSwap(nil, &err)
	}
	var line atomic.Pointer[gate]
	trial := r.Config
	trial.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if first := connected.CompareAndSwap(false, true); !first || !really {
			return nil, errRehearsal
		}
		conn, err := r.dial(ctx, network, address)
		if err != nil {
			fails(err)
			return nil, errRehearsal
		}
		g := &gate{Conn: conn}
		line.Store(g)
		return g, nil
	}
	one := r
	if one.receiver = trial.buildReceiver(r.receiver.Receiver, r.templates, slog.New(slog.DiscardHandler)); one.receiver.err != nil {
		return one.receiver.err
	}
	ctx, cancel := context.WithTimeout(ctx, notify.MinTimeout)
	defer cancel()
	_, err := guarded(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() { line.Load().open.Store(true) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			line.Load().open.Store(false)
			if err != nil {
				fails(fmt.Errorf("TLS: %w", err))
			}
		},
	}), one.integration(), alerts...)
	if g := line.Load(); g != nil {
		_ = g.Close()
	}
	switch reached := failed.Load(); {
	case reached != nil:
		return *reached
	case err != nil && !connected.Load():
		return fmt.Errorf("no notification can be made: %w", err)
	}
	return nil
}

// gate is a connection that sends nothing but a TLS handshake.
type gate struct {
	net.Conn
	open atomic.Bool
}

// Write implements net.Conn.
func (g *gate) Write(b []byte) (int, error) {
	if !g.open.Load() {
		return 0, errRehearsal
	}
	return g.Conn.Write(b)
}

// routeOf returns a route to a receiver.
func routeOf(routes *dispatch.Route, receiver string) (found *dispatch.Route) {
	routes.Walk(func(r *dispatch.Route) {
		if found == nil && r.RouteOpts.Receiver == receiver {
			found = r
		}
	})
	return found
}

func sampleContext(ctx context.Context, r *dispatch.Route, receiver string) context.Context {
	return testContext(ctx, r, receiver, time.Now())
}

// samples returns a notification of each kind: a page about a chain of a node, its end, warnings about many nodes of which some have ended, and
// an alert without a node.
func samples(now time.Time) [][]*alert.Alert {
	sample := func(severity, name string, ended bool, labels model.LabelSet) *alert.Alert {
		a := &alert.Alert{Alert: model.Alert{
			Labels: labels.Merge(model.LabelSet{"alertname": model.LabelValue(name), "severity": model.LabelValue(severity), "job": "avax-exporter"}),
			Annotations: model.LabelSet{
				"summary": "alpha: no answer (validator)", "description": "The node has not answered for 5 min.", "impact": "Its uptime falls.",
				"action": "Start the node.", "runbook_url": "https://runbooks.example/AvaxNodeDown", "dashboard_url": "https://grafana.example/d/avax",
			},
			StartsAt: now.Add(-10 * time.Minute), EndsAt: now.Add(time.Hour), GeneratorURL: "http://exporter.example/alerts",
		}, UpdatedAt: now}
		if ended {
			a.EndsAt = now.Add(-time.Minute)
		}
		return a
	}
	chain := model.LabelSet{"node": "alpha", "chain": "C"}
	var many []*alert.Alert
	for i := range 12 {
		many = append(many, sample("warn", "AvaxNodeSlow", i%2 == 1, model.LabelSet{"node": model.LabelValue(fmt.Sprintf("node-%d", i))}))
	}
	return [][]*alert.Alert{
		{sample("page", "AvaxNodeDown", false, chain)},
		{sample("page", "AvaxNodeDown", true, chain)},
		many,
		{sample("info", "AvaxVersionOld", false, nil)},
		{sample("none", "AvaxWatchdog", false, nil)},
	}
}

// texts calls do with each text of a value of the configuration, and its field, such as telegram.message. It returns the first error.
func texts(v reflect.Value, field string, do func(text reflect.Value, field string) error) error {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		if err := do(v, field); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := texts(v.Index(i), field, do); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := texts(v.MapIndex(key), fmt.Sprintf("%s.%v", field, key), do); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if err := texts(v.Field(i), strings.TrimSuffix(field+"."+yamlName(f), "."), do); err != nil {
					return err
				}
			}
		}
	default:
	}
	return nil
}

// render executes the texts of the configuration with the data of a notification.
func (r rehearsed) render(data *template.Data) error {
	return texts(r.config, r.kind, func(text reflect.Value, field string) (err error) {
		if !strings.Contains(text.String(), "{{") || strings.Contains(field, ".http_config") {
			return nil
		}
		if strings.HasSuffix(field, ".html") {
			_, err = r.templates.ExecuteHTMLString(text.String(), data)
		} else {
			_, err = r.templates.ExecuteTextString(text.String(), data)
		}
		return err
	})
}

// unfilled matches what another program was to replace: ${NAME}, $(NAME), %(NAME)s, __NAME__, and a whole value such as $NAME, <name> or changeme.
var unfilled = regexp.MustCompile(strings.Join([]string{
	`\$\{[A-Za-z_][^}]*\}`, `\$\([A-Za-z_]\w*\)`, `%\([A-Za-z_]\w*\)s`, `\b__[A-Z]\w*__\b`, `^\$[A-Z_]\w+$`,
	`(?i:^<[a-z][a-z0-9 _-]*>$|^change[-_ ]?me$|^your[-_ ][a-z0-9_ -]+$)`,
}, "|"))

// placeholders returns an error about the first value that is a placeholder. Alertmanager replaces none.
func (r rehearsed) placeholders() error {
	return texts(r.config, r.kind, func(text reflect.Value, field string) error {
		if !isSecret(text.Type()) && strings.Contains(text.String(), "{{") || !unfilled.MatchString(strings.TrimSpace(text.String())) {
			return nil
		}
		return errors.New("the value is a placeholder such as ${NAME}, and nothing replaces it: write the value, or the path of a file with it (…_file)")
	})
}
