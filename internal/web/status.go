package web

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/scrape"
)

//go:embed status.html
var statusHTML string

var statusPage = template.Must(template.New("status").Funcs(template.FuncMap{
	"percent": figure(func(v float64) string { return fmt.Sprintf("%.2f %%", v*100) }),
	"count":   figure(func(v float64) string { return fmt.Sprintf("%.0f", v) }),
	"avax":    figure(func(v float64) string { return fmt.Sprintf("%.4f AVAX", v) }),
	"date":    figure(func(v float64) string { return time.Unix(int64(v), 0).UTC().Format("2006-01-02 15:04 UTC") }),
	"yesno":   figure(func(v float64) string { return map[bool]string{true: "yes", false: "no"}[v == 1] }),
	"round":   func(d time.Duration) time.Duration { return d.Round(time.Millisecond) },
	"ago": func(d *time.Duration) string {
		if d == nil {
			return "never"
		}
		return d.Round(time.Second).String() + " ago"
	},
	"list": func(items []string) string { return strings.Join(items, ", ") },
}).Parse(statusHTML))

// figure shows a value, and a dash where there is none: absent is never zero.
func figure(show func(float64) string) func(*float64) string {
	return func(v *float64) string {
		if v == nil {
			return "–"
		}
		return show(*v)
	}
}

// status is the page for people, made on the server from the samples that
// /metrics serves at this moment.
func (s *Site) status(w http.ResponseWriter, r *http.Request) {
	var page bytes.Buffer
	if err := statusPage.Execute(&page, s.view(time.Now())); err != nil {
		s.Log.Error("status page", "err", err)
		http.Error(w, "the status page has a mistake, /metrics is not affected", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	_, _ = page.WriteTo(w)
}

// view is what the page shows.
type view struct {
	Version    string
	Now        time.Time
	Ran, Of    int
	Nodes      []nodeView
	Validators []validatorView
	L1s        []l1View
	Failing    []failureView
	Jobs       []jobView
}

type nodeView struct {
	Name           string
	Up             bool
	Version        string
	Chains         []chainView
	Validating     *float64
	RewardingStake *float64
	Peers          *float64
	ConnectedStake *float64
}

type chainView struct {
	Name                  string
	Present, Bootstrapped bool
}

type validatorView struct {
	ID      string
	Present bool
	End     *float64
	Stake   *float64
}

type l1View struct {
	Chain      string
	Validators []l1ValidatorView
}

type l1ValidatorView struct {
	ID      string
	Weight  float64
	Active  bool
	Balance *float64
}

// failureView is one problem with everything that it stops.
type failureView struct {
	Target, Problem string
	Collectors      []string
	LastGood        *time.Duration // of the one that worked last; nil if none ever did
}

type jobView struct {
	snapshot.Key
	Failed    bool
	Ago, Took time.Duration
}

func (s *Site) view(now time.Time) view {
	v := view{Version: s.Version, Now: now}
	v.Ran, v.Of = s.Progress()
	get := func(family string) []snapshot.Value { return s.Store.Values(family, now) }

	for _, up := range get("avax_node_up") {
		n := nodeView{Name: up.Labels["node"], Up: up.Value == 1}
		of := func(family string) *float64 { return find(get(family), "node", n.Name) }
		for _, info := range get("avax_node_info") {
			if info.Labels["node"] == n.Name {
				n.Version = info.Labels["version"]
			}
		}
		for _, present := range get("avax_node_chain_present") {
			if present.Labels["node"] != n.Name {
				continue
			}
			c := chainView{Name: present.Labels["chain"], Present: present.Value == 1}
			for _, b := range get("avax_node_chain_bootstrapped") {
				if b.Labels["node"] == n.Name && b.Labels["chain"] == c.Name {
					c.Bootstrapped = b.Value == 1
				}
			}
			n.Chains = append(n.Chains, c)
		}
		n.Validating = of("avax_node_validating")
		n.RewardingStake = of("avax_node_uptime_rewarding_stake_ratio")
		n.ConnectedStake = of("avax_node_connected_stake_ratio")
		n.Peers = of("avax_node_peers")
		v.Nodes = append(v.Nodes, n)
	}
	for _, present := range get("avax_validator_present") {
		id := present.Labels["node_id"]
		v.Validators = append(v.Validators, validatorView{
			ID: id, Present: present.Value == 1,
			End:   find(get("avax_validator_end_timestamp_seconds"), "node_id", id),
			Stake: find(get("avax_validator_stake_avax"), "node_id", id),
		})
	}
	v.L1s = l1Views(get)
	jobs := s.Store.Jobs()
	v.Failing = failures(jobs, now)
	for _, j := range jobs {
		v.Jobs = append(v.Jobs, jobView{Key: j.Last.Key, Failed: j.Last.Err != nil, Ago: now.Sub(j.Last.At), Took: j.Last.Took})
	}
	return v
}

// failures puts together what has one cause: a dead node fails all of its
// collectors in the same words.
func failures(jobs []snapshot.Job, now time.Time) []failureView {
	var all []failureView
	for _, j := range jobs {
		if j.Last.Err == nil {
			continue
		}
		target, _, _ := strings.Cut(j.Last.Target, "/")
		f := failureView{Target: target, Problem: j.Last.Err.Error()}
		if e := (*scrape.Error)(nil); errors.As(j.Last.Err, &e) && e.Err != nil {
			f.Problem = string(e.Outcome) + ": " + e.Err.Error()
		}
		i := slices.IndexFunc(all, func(other failureView) bool { return other.Target == f.Target && other.Problem == f.Problem })
		if i < 0 {
			i = len(all)
			all = append(all, f)
		}
		if !slices.Contains(all[i].Collectors, j.Last.Collector) {
			all[i].Collectors = append(all[i].Collectors, j.Last.Collector)
		}
		if ago := now.Sub(j.Good.At); !j.Good.At.IsZero() && (all[i].LastGood == nil || ago < *all[i].LastGood) {
			all[i].LastGood = &ago
		}
	}
	return all
}

func l1Views(get func(string) []snapshot.Value) []l1View {
	type key struct{ chain, id string }
	index := func(family string) map[key]float64 {
		m := map[key]float64{}
		for _, v := range get(family) {
			m[key{v.Labels["chain"], v.Labels["validation_id"]}] = v.Value
		}
		return m
	}
	weights, balances := index("avax_l1_validator_weight"), index("avax_l1_validator_balance_avax")
	var views []l1View
	for _, active := range get("avax_l1_validator_active") {
		chain := active.Labels["chain"]
		if len(views) == 0 || views[len(views)-1].Chain != chain {
			views = append(views, l1View{Chain: chain})
		}
		k := key{chain, active.Labels["validation_id"]}
		row := l1ValidatorView{ID: active.Labels["node_id"], Weight: weights[k], Active: active.Value == 1}
		if b, has := balances[k]; has {
			row.Balance = &b
		}
		last := &views[len(views)-1]
		last.Validators = append(last.Validators, row)
	}
	return views
}

// find returns the value whose label reads so, or nil.
func find(values []snapshot.Value, label, is string) *float64 {
	for _, v := range values {
		if v.Labels[label] == is {
			return &v.Value
		}
	}
	return nil
}
