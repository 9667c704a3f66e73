package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// pager is an Alertmanager in memory, with the grouping and inhibitions of the example configuration. Requests to other hosts are
// passed on.
type pager struct {
	elsewhere           http.RoundTripper
	inhibitions         []inhibition
	routes              route
	groupWait, interval time.Duration // of a group: wait before the first notification, and interval

	mu       sync.Mutex
	episodes []*episode           // in order of time
	groups   map[string]time.Time // time of the next check of each group
}

const pagerHost = "pager.sim"

// episode is an alert from its firing to its resolve.
type episode struct {
	labels       map[string]string
	group        string    // its group
	began, ended time.Time // ended is zero while it fires
	told         time.Time // first notification; zero while it is inhibited
}

func (e *episode) fires() bool { return e.ended.IsZero() }

func (e *episode) String() string {
	rest := maps.Clone(e.labels)
	maps.DeleteFunc(rest, func(name, _ string) bool { return slices.Contains([]string{"alertname", "job", "instance"}, name) })
	return fmt.Sprint(e.labels["alertname"], rest)
}

// route is a node of the routing tree; it inherits settings from its parent.
type route struct {
	Matchers  []string
	GroupBy   []string `yaml:"group_by"`
	GroupWait string   `yaml:"group_wait"`
	Interval  string   `yaml:"group_interval"`
	Routes    []*route

	matchers []*labels.Matcher
}

// groupBy returns the label values that identify a group.
func (r *route) groupBy(labels map[string]string) []string {
	for _, branch := range r.Routes {
		if matchAll(branch.matchers, labels) {
			if found := branch.groupBy(labels); found != nil {
				return found
			}
			break
		}
	}
	return r.GroupBy
}

type inhibition struct {
	source, target []*labels.Matcher
	equal          []string
}

func (i inhibition) applies(source, target map[string]string) bool {
	return matchAll(i.source, source) && matchAll(i.target, target) &&
		!slices.ContainsFunc(i.equal, func(name string) bool { return source[name] != target[name] })
}

func matchAll(matchers []*labels.Matcher, set map[string]string) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(set[m.Name]) })
}

func newPager(t *testing.T, elsewhere http.RoundTripper) *pager {
	t.Helper()
	text, err := os.ReadFile("../../deploy/alertmanager/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	var written struct {
		Route route
		Rules []struct {
			Source []string `yaml:"source_matchers"`
			Target []string `yaml:"target_matchers"`
			Equal  []string
		} `yaml:"inhibit_rules"`
	}
	if err := yaml.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	matchers := func(all []string) []*labels.Matcher {
		parsed, err := parser.NewParser(parser.Options{}).ParseMetricSelector("{" + strings.Join(all, ",") + "}")
		if err != nil {
			t.Fatalf("%q: %v", all, err)
		}
		return parsed
	}
	var read func(r *route)
	read = func(r *route) {
		if len(r.Matchers) > 0 {
			r.matchers = matchers(r.Matchers)
		}
		for _, branch := range r.Routes {
			read(branch)
		}
	}
	read(&written.Route)
	p := &pager{elsewhere: elsewhere, routes: written.Route, groups: map[string]time.Time{}}
	var wait, interval error
	p.groupWait, wait = time.ParseDuration(written.Route.GroupWait)
	p.interval, interval = time.ParseDuration(written.Route.Interval)
	if err := errors.Join(wait, interval); err != nil {
		t.Fatal(err)
	}
	for _, r := range written.Rules {
		p.inhibitions = append(p.inhibitions, inhibition{matchers(r.Source), matchers(r.Target), r.Equal})
	}
	return p
}

// RoundTrip accepts alerts.
func (p *pager) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Hostname() != pagerHost {
		return p.elsewhere.RoundTrip(req)
	}
	var batch []struct {
		Labels map[string]string
		EndsAt time.Time
	}
	if err := json.NewDecoder(req.Body).Decode(&batch); err != nil {
		return nil, err
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range batch {
		i := slices.IndexFunc(p.episodes, func(e *episode) bool { return e.fires() && maps.Equal(e.labels, a.Labels) })
		resolved := !a.EndsAt.After(now)
		switch {
		case a.Labels["severity"] == "none":
		case i < 0 && !resolved:
			e := &episode{labels: a.Labels, group: p.group(a.Labels), began: now}
			p.episodes = append(p.episodes, e)
			if p.groups[e.group].IsZero() {
				p.groups[e.group] = now.Add(p.groupWait)
			}
		case i >= 0 && resolved:
			p.episodes[i].ended = now
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
}

// group returns the group of an alert. Each severity has its own route, and therefore its own groups.
func (p *pager) group(labels map[string]string) string {
	key := labels["severity"]
	for _, name := range p.routes.groupBy(labels) {
		key += "/" + labels[name]
	}
	return key
}

// tell checks the groups that are due, and sends their firing alerts unless they are inhibited.
func (p *pager) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for group, at := range p.groups {
		if at.After(now) {
			continue
		}
		delete(p.groups, group)
		for _, e := range p.episodes {
			if !e.fires() || e.group != group {
				continue
			}
			p.groups[group] = at.Add(p.interval)
			if e.told.IsZero() && !p.inhibited(e) {
				e.told = now
			}
		}
	}
}

func (p *pager) inhibited(e *episode) bool {
	return slices.ContainsFunc(p.episodes, func(source *episode) bool {
		return source != e && source.fires() && slices.ContainsFunc(p.inhibitions, func(i inhibition) bool {
			return i.applies(source.labels, e.labels)
		})
	})
}

// all returns copies of the episodes so far.
func (p *pager) all() (all []episode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.episodes {
		all = append(all, *e)
	}
	return all
}
