package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
)

// A voice is what one node or observer reported at a time. A status holds only voices that count: those of nodes that answer, since their last silence,
// restart or change of identity. docs/decisions/views.md has the reasons.

// voices tells which runs of the jobs of a node count.
type voices map[string]time.Time // the time before which nothing counts, by node

// voicesOf reads what the probes say. At the zero time every voice counts.
func voicesOf(jobs []*metric.Job, now time.Time) voices {
	since := voices{}
	if now.IsZero() {
		return since
	}
	for _, j := range jobs {
		if s := j.Good.Facts.Since; !s.IsZero() && j.Last.Target.Node != "" && now.Before(j.Good.Until) {
			since[j.Last.Target.Node] = s
		}
	}
	return since
}

// count reports whether a run of a job counts. What a probe says always does. The run that sees a change ends after it.
func (v voices) count(r *metric.Run) bool {
	return !r.Facts.Since.IsZero() || !r.At.Add(r.Took).Before(v[r.Target.Node])
}

// lag is how far a chain of one node is behind what others have reached.
type lag struct {
	by              string // the node or observer that is the last one needed to decide
	blocks, seconds float64
	others          int     // that report a height
	ahead           float64 // blocks ahead of what any other reports; 0 if another one reports this height or the heights cannot be compared
}

// lagOf compares a chain of a node with the recent heights of others. It is behind only by what most others are ahead: one of several decides nothing.
func (st *Status) lagOf(n *Node, chain string) (l lag) {
	type one struct {
		name            string
		blocks, seconds float64
	}
	var all []one
	c, highest := n.chains[chain], 0.0
	for _, other := range st.nodeByName {
		o := other.chains[chain]
		if other == n || o == nil || !o.Height.Recent(st.At) || o.Bootstrapped.Is(0) {
			continue
		}
		blocks, seconds := behind(c, o)
		all, highest = append(all, one{other.Name, blocks, seconds}), max(highest, o.Height.V)
	}
	if l.others = len(all); l.others == 0 {
		return l
	}
	decides := nodes.Deciding(len(all) + 1)
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(b.blocks, a.blocks), cmp.Compare(a.name, b.name)) })
	l.by, l.blocks = all[decides].name, all[decides].blocks
	slices.SortFunc(all, func(a, b one) int { return cmp.Compare(b.seconds, a.seconds) })
	l.seconds = all[decides].seconds
	if l.others > 1 {
		l.ahead = max(0, c.Height.V-highest)
	}
	return l
}

// agreedHeight is the height that a chain has by agreement of the voices about it.
var agreedHeight = read("avax_chain_agreed_height", "chain")

// agreedHeights returns the heights of the chains on which most nodes and observers agree, by chain. Those that bootstrap do not count.
func (st *Status) agreedHeights() map[string]float64 {
	all := map[string][]float64{}
	for _, n := range st.nodeByName {
		for name, c := range n.chains {
			if c.Height.Known && !c.Bootstrapped.Is(0) {
				all[name] = append(all[name], c.Height.V)
			}
		}
	}
	agreed := map[string]float64{}
	for chain, heights := range all {
		agreed[chain] = nodes.Reached(heights)
	}
	return agreed
}

// ByScrape exports the verdicts and the agreed facts to each scrape.
type ByScrape func() *Status

var (
	stopDesc   = prometheus.NewDesc(safeToStopFamily.Name, safeToStopFamily.Help, safeToStopFamily.Labels, nil)
	agreedDesc = prometheus.NewDesc(agreedHeight.Name, agreedHeight.Help, agreedHeight.Family.Labels, nil)
)

// Describe implements prometheus.Collector.
func (ByScrape) Describe(out chan<- *prometheus.Desc) { out <- stopDesc; out <- agreedDesc }

// Collect implements prometheus.Collector.
func (m ByScrape) Collect(out chan<- prometheus.Metric) {
	st := m()
	for node := range st.validatorSets().Nodes {
		switch verdict, _ := st.SafeToStop(node); verdict {
		case Yes:
			out <- prometheus.MustNewConstMetric(stopDesc, prometheus.GaugeValue, 1, node)
		case No:
			out <- prometheus.MustNewConstMetric(stopDesc, prometheus.GaugeValue, 0, node)
		}
	}
	for chain, height := range st.agreedHeights() {
		out <- prometheus.MustNewConstMetric(agreedDesc, prometheus.GaugeValue, height, chain)
	}
}

// restsOn says on whose word an answer about the network rests, as the end of a sentence: one or two voices outvote nobody. It is empty if
// there are more.
func (st *Status) restsOn() string {
	var all []string
	for _, n := range st.Nodes {
		if n.Up.Is(1) {
			all = append(all, n.Name)
		}
	}
	for _, o := range st.Observers {
		if o.ObserverUp.Is(1) {
			all = append(all, o.Name)
		}
	}
	if len(all) == 0 || len(all)-nodes.Most(len(all)) > 0 {
		return ""
	}
	slices.Sort(all)
	return "; this rests on the word of " + strings.Join(all, " and ") + " alone"
}
