package alerting

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/avax-exporter/avax-exporter/internal/regular"
)

// CheckAlertmanagers returns the errors in c.Alertmanagers and in c.AlertmanagerFile. It sends no request.
func CheckAlertmanagers(c Config) (urls, file error) {
	for i, u := range c.Alertmanagers {
		if _, err := parseReceiver(u); err != nil {
			urls = errors.Join(urls, fmt.Errorf("entry %d of the list: %w", i+1, err))
		}
	}
	if urls == nil && c.Notifies() {
		_, file = receivers(c)
	}
	return urls, file
}

func parseReceiver(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("invalid URL: write one like http://127.0.0.1:9093") // the URL may contain a password
	case u.User != nil:
		return nil, errors.New("the URL contains a user or password: use basic_auth in the Alertmanager configuration file instead")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the URL has a query or fragment: write it without ? and #, such as http://127.0.0.1:9093/prefix")
	}
	return u, nil
}

// receivers builds the alerting section of a Prometheus configuration from the URLs and the file. An entry of the file that has
// no static_configs sets the HTTP options for the URLs.
func receivers(c Config) (config.AlertingConfig, error) {
	var block config.AlertingConfig
	if c.AlertmanagerFile != "" {
		content, err := regular.ReadFile(c.AlertmanagerFile)
		if err != nil {
			return block, err
		}
		if block, err = parseBlock(content); err != nil {
			return block, fmt.Errorf("%s: %w", c.AlertmanagerFile, err)
		}
		block.SetDirectory(filepath.Dir(c.AlertmanagerFile))
	}
	options := config.DefaultAlertmanagerConfig
	withoutTargets := 0
	var entries config.AlertmanagerConfigs
	for _, a := range block.AlertmanagerConfigs {
		if len(a.ServiceDiscoveryConfigs) > 0 {
			entries = append(entries, a)
			continue
		}
		options = *a
		withoutTargets++
	}
	switch {
	case withoutTargets > 1:
		return block, fmt.Errorf("%s: %d entries without static_configs: only one such entry is allowed, for the URLs in AVAX_ALERTMANAGERS: add static_configs to the others", c.AlertmanagerFile, withoutTargets)
	case withoutTargets == 1 && len(c.Alertmanagers) == 0:
		return block, fmt.Errorf("%s: an entry without static_configs is only for the URLs in AVAX_ALERTMANAGERS, which is empty: add static_configs to the entry", c.AlertmanagerFile)
	case len(entries) == 0 && len(c.Alertmanagers) == 0:
		return block, fmt.Errorf("%s: neither the file nor AVAX_ALERTMANAGERS contains an Alertmanager: add one", c.AlertmanagerFile)
	}
	for _, s := range c.Alertmanagers {
		u, err := parseReceiver(s)
		if err != nil {
			return block, err
		}
		a := options
		a.Scheme = u.Scheme
		if prefix := strings.TrimSuffix(u.Path, "/"); prefix != "" {
			a.PathPrefix = prefix
		}
		target := model.LabelSet{model.AddressLabel: model.LabelValue(u.Host)}
		a.ServiceDiscoveryConfigs = discovery.Configs{discovery.StaticConfig{{Targets: []model.LabelSet{target}, Source: "list"}}}
		entries = append(entries, &a)
	}
	block.AlertmanagerConfigs = entries
	return block, nil
}

// parseBlock parses a file with an alerting section and nothing else.
func parseBlock(content []byte) (config.AlertingConfig, error) {
	loaded, err := config.Load(string(content), slog.New(slog.DiscardHandler))
	if err != nil {
		return config.AlertingConfig{}, errors.New("invalid file: write only the section alerting of a Prometheus configuration: " + quoted.ReplaceAllLiteralString(err.Error(), "…"))
	}
	if len(loaded.ScrapeConfigs) > 0 || len(loaded.RuleFiles) > 0 || len(loaded.RemoteWriteConfigs) > 0 {
		return config.AlertingConfig{}, errors.New("the file has other sections: write only the section alerting")
	}
	return loaded.AlertingConfig, nil
}

// targets returns the addresses of each entry in the format of the notifier.
func targets(c config.AlertingConfig) map[string][]*targetgroup.Group {
	sets := map[string][]*targetgroup.Group{}
	for key, a := range c.AlertmanagerConfigs.ToMap() {
		for _, d := range a.ServiceDiscoveryConfigs {
			if fixed, ok := d.(discovery.StaticConfig); ok {
				sets[key] = append(sets[key], fixed...)
			}
		}
	}
	return sets
}
