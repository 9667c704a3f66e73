//go:build !noalerting

package notify

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"reflect"
	"strings"
	"time"

	amconfig "github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/config/receiver"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/template"
	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/promslog"
)

// Reach checks every integration that a route leads to, and sends nothing: it is built,
// its files are read, and its address is connected to unless there is a proxy. No error
// contains a secret.
func Reach(ctx context.Context, c Config) ([]Trial, error) {
	conf, err := load(c)
	if err != nil {
		return nil, err
	}
	templates, err := template.FromGlobs(conf.Templates)
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	used := map[string]bool{}
	dispatch.NewRoute(conf.Route, nil).Walk(func(r *dispatch.Route) { used[r.RouteOpts.Receiver] = true })
	var trials []Trial
	for _, r := range conf.Receivers {
		if !used[r.Name] {
			continue
		}
		_, buildErr := receiver.BuildReceiverIntegrations(r, templates, promslog.NewNopLogger(), c.clientOptions()...)
		fields := reflect.ValueOf(r)
		for i := range fields.NumField() {
			kind, isConfigs := strings.CutSuffix(yamlName(fields.Type().Field(i)), "_configs")
			if !isConfigs {
				continue
			}
			for k := range fields.Field(i).Len() {
				t := Trial{Receiver: r.Name, Integration: fmt.Sprintf("%s[%d]", kind, k)}
				if t.Err = buildErr; t.Err == nil {
					t.Err = reach(ctx, fields.Field(i).Index(k))
				}
				if t.Err != nil {
					t.Err = withoutURLs(t.Err)
				}
				trials = append(trials, t)
			}
		}
	}
	return trials, nil
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

func reach(ctx context.Context, config reflect.Value) error {
	var needs needs
	if err := needs.of(config); err != nil {
		return err
	}
	if needs.proxy {
		return nil
	}
	for _, address := range needs.addresses {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		cancel()
		if err != nil {
			return fmt.Errorf("connect: %w: correct the address, or open the way to it", err)
		}
		_ = conn.Close()
	}
	return nil
}

// needs are the addresses, as host:port, of a receiver's configuration.
type needs struct {
	addresses []string
	proxy     bool
}

// of reads the files that a value names, and collects its addresses.
func (n *needs) of(v reflect.Value) error {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	switch at := v.Interface().(type) {
	case url.URL:
		n.add(&at)
		return nil
	case amconfig.HostPort:
		if at.Host != "" {
			n.addresses = append(n.addresses, at.String())
		}
		return nil
	case httpconfig.ProxyConfig:
		n.proxy = n.proxy || at.ProxyURL.URL != nil || at.ProxyFromEnvironment
		return nil
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		name, isFile := strings.CutSuffix(yamlName(field), "_file")
		if !isFile || v.Field(i).Kind() != reflect.String {
			if err := n.of(v.Field(i)); err != nil {
				return err
			}
			continue
		}
		path := v.Field(i).String()
		if path == "" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s_file: %w", name, err)
		}
		secret := strings.TrimSpace(string(text))
		if secret == "" {
			return fmt.Errorf("%s_file: %s is empty: write the secret into it", name, path)
		}
		if strings.HasSuffix(name, "url") {
			at, err := url.Parse(secret)
			if err != nil || at.Host == "" {
				return fmt.Errorf("%s_file: %s holds no URL: write one like https://hooks.example/…", name, path)
			}
			n.add(at)
		}
	}
	return nil
}

func (n *needs) add(at *url.URL) {
	if at.Host == "" {
		return
	}
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[at.Scheme]
	}
	if port == "" {
		port = "443"
	}
	n.addresses = append(n.addresses, net.JoinHostPort(at.Hostname(), port))
}
