package metric_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var (
	peers = metric.New("avax_node_peers", "Peers.", "node", "version")
	info  = metric.New("avax_node_info", "Who it is.", "node", "git_commit")
	total = metric.NewCounter("avax_network_total", "An aggregate.")
	known = []*metric.Family{peers, info, total}
)

func choice(t *testing.T, allow, deny string) *metric.Choice {
	t.Helper()
	c := &metric.Choice{}
	if err := errors.Join(append(c.ParseAllow(allow, known), c.ParseDeny(deny, known)...)...); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAllowAndDenyListsSelectSeries(t *testing.T) {
	const (
		alphaOld = "avax_node_peers{node=\"alpha\",version=\"v1.13.0\"} 1"
		alphaNew = "avax_node_peers{node=\"alpha\",version=\"v1.14.0\"} 2"
		bravoNew = "avax_node_peers{node=\"bravo\",version=\"v1.14.0\"} 3"
		alphaIs  = "avax_node_info{node=\"alpha\",git_commit=\"c0ffee\"} 1"
		network  = "avax_network_total 9"
	)
	for _, c := range []struct {
		allow, deny string
		want        []string
	}{
		{"", "", []string{alphaOld, alphaNew, bravoNew, alphaIs, network}},
		{"avax_node_*", "", []string{alphaOld, alphaNew, bravoNew, alphaIs}},
		{"avax_node_peers{node=alpha}", "", []string{alphaOld, alphaNew}},
		{"avax_node_peers{node=bravo}, avax_node_peers{version=v1.13*}", "", []string{alphaOld, bravoNew}},
		{"avax_node_peers{node=bravo},avax_node_*", "", []string{alphaOld, alphaNew, bravoNew, alphaIs}},
		{"", "avax_node_*", []string{network}},
		{"", `*{node="alpha"}`, []string{bravoNew, network}},
		{"avax_node_*", "avax_node_peers{version=v1.13.*}", []string{alphaNew, bravoNew, alphaIs}},
		{"", "avax_node_info{git_commit},avax_node_peers", []string{`avax_node_info{node="alpha"} 1`, network}},
		{"", "avax_node_info{git_commit},avax_node_info{node},avax_node_peers", []string{"avax_node_info 1", network}},
	} {
		b := metric.NewBatch(known)
		b.Choose(choice(t, c.allow, c.deny))
		b.Set(peers, 1, "alpha", "v1.13.0")
		b.Set(peers, 2, "alpha", "v1.14.0")
		b.Set(peers, 3, "bravo", "v1.14.0")
		b.Set(info, 1, "alpha", "c0ffee")
		b.Set(total, 9)
		var got []string
		for _, chunk := range b.Chunks() {
			got = append(got, strings.Split(strings.TrimSpace(string(chunk.Text())), "\n")...)
			for _, s := range chunk.Samples() {
				if len(s.Labels) != len(chunk.Family.Labels) {
					t.Errorf("parsed %v for the labels %v", s.Labels, chunk.Family.Labels)
				}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("allow %q, deny %q:\n%s", c.allow, c.deny, diff)
		}
		if err := b.Err(); err != nil {
			t.Errorf("allow %q, deny %q: %v", c.allow, c.deny, err)
		}
	}
}

func TestDroppedLabelReportsDuplicateSeries(t *testing.T) {
	b := metric.NewBatch(known)
	b.Choose(choice(t, "", "avax_node_peers{version}"))
	b.Set(peers, 1, "alpha", "v1.13.0")
	b.Set(peers, 2, "alpha", "v1.14.0")
	if err := b.Err(); err == nil || err.Error() != `avax_node_peers{node="alpha"}: duplicate series` {
		t.Errorf("%v", err)
	}
	if got := string(b.Chunks()[0].Text()); got != "avax_node_peers{node=\"alpha\"} 1\n" {
		t.Errorf("served %q", got)
	}
}

func TestInvalidAllowAndDenyItemsAreErrors(t *testing.T) {
	for list, want := range map[string]string{
		"avax_node_pers":            `"avax_node_pers": no collector has such a family: docs/metrics.md lists all families`,
		"avax_node_peers{chain=C}":  `"avax_node_peers{chain=C}": the family has no label chain: docs/metrics.md lists its labels`,
		"avax_node_peers{node":      `"avax_node_peers{node": write a family such as avax_node_peers, with * for any text; to select only a part, append {label} or {label=value}`,
		"avax node peers":           `"avax node peers": write a family such as avax_node_peers, with * for any text; to select only a part, append {label} or {label=value}`,
		"avax_node_peers{node=[a-}": `"avax_node_peers{node=[a-}": syntax error in pattern: [ and \ have a special meaning in a value: write ? instead`,
		"avax_node_peers{node}":     `avax_node_peers{node}: a label without a value is valid only in AVAX_METRICS_DENY: write {node=value}`,
	} {
		errs := (&metric.Choice{}).ParseAllow(list, known)
		if len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("%s: %q, want %q", list, errs, want)
		}
	}
}

func TestSeriesLimitDropsTheLargestFamilies(t *testing.T) {
	for _, c := range []struct {
		limit int
		want  string
	}{
		{1000, "avax_node_peers 100, avax_node_info 20, avax_network_total 1"},
		{121, "avax_node_peers 100, avax_node_info 20, avax_network_total 1"},
		{120, "avax_node_info 20, avax_network_total 1"},
		{21, "avax_node_info 20, avax_network_total 1"},
		{20, "avax_network_total 1"},
		{0, "avax_network_total 1"},
		{-5, "avax_network_total 1"},
	} {
		b := metric.NewBatch(known)
		b.Limit(c.limit)
		for i := range 100 {
			b.Set(peers, 1, "alpha", fmt.Sprint(i))
			if i < 20 {
				b.Set(info, 1, "alpha", fmt.Sprint(i))
			}
		}
		b.Set(total, 9)
		var got []string
		for _, chunk := range b.Chunks() {
			got = append(got, fmt.Sprintf("%s %d", chunk.Family.Name, chunk.Series))
		}
		if g := strings.Join(got, ", "); g != c.want {
			t.Errorf("limit %d: served %s, want %s", c.limit, g, c.want)
		}
		if err := b.Err(); err != nil && strings.Count(err.Error(), "the limit leaves") != 1 {
			t.Errorf("limit %d: reported more than once: %v", c.limit, err)
		}
		if err := b.Err(); errors.Is(err, metric.ErrTooMany) != (c.limit < 121) {
			t.Errorf("limit %d: %v", c.limit, err)
		} else if err != nil && !strings.Contains(err.Error(), "found 121, ") {
			t.Errorf("limit %d: %v", c.limit, err)
		}
	}
}

// The first limit applies while the batch is filled. A family with a missing sample is never served.
func TestFamiliesAreNeverServedInPart(t *testing.T) {
	b := metric.NewBatch(known)
	b.Limit(20)
	for i := range 50 {
		b.Set(peers, 1, "alpha", fmt.Sprint(i))
	}
	b.Set(total, 9)
	b.Limit(1000)
	if got := b.Chunks(); len(got) != 1 || got[0].Family != total {
		t.Errorf("served %v", got)
	}
	if err := b.Err(); !errors.Is(err, metric.ErrTooMany) {
		t.Errorf("%v", err)
	}
}
