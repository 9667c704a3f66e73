package web

import (
	"strconv"
	"time"
)

// collectorView tells how the last runs of one collector went.
type collectorView struct {
	Name            string
	Targets, Series int
	State           cell
	Last            cell // when the oldest of them began
	Took            cell // the longest of them

	fails, stopped int
	oldest         time.Time
	longest        time.Duration
}

// addRuns tells how the collectors fare, and on the cards of nodes that are
// down, why.
func (p *page) addRuns() {
	nodes := map[string]*nodeView{}
	for _, list := range [][]*nodeView{p.Nodes, p.MoreNodes} {
		for _, n := range list {
			nodes[n.Name] = n
		}
	}
	isNode := func(name string) bool { return nodes[name] != nil }
	for _, f := range failures(p.jobs, p.Now, isNode, p.follows(nodes)) {
		if n := nodes[f.Node]; n != nil && n.Down {
			if len(n.Failing) == mostOfACard {
				n.MoreFailing++
				continue
			}
			n.Failing = append(n.Failing, f)
			continue
		}
		f.Anchor = "fails-" + strconv.Itoa(len(p.Failing)+1)
		if len(p.Failing) < mostCauses {
			p.Failing = append(p.Failing, f)
		} else {
			f.Anchor = "failing"
			p.MoreFailing++
		}
		if f.Follows != "" {
			continue // and so is no problem of its own
		}
		alert := "AvaxCollectorFailing"
		if f.Alert == "AvaxUpstreamForbidden" {
			alert = f.Alert
		}
		p.problems.add(alert, warn, f.jobs, place{Text: f.Label(), Anchor: f.Anchor})
	}

	good := 0
	for _, j := range p.jobs { // ordered by collector
		if last := len(p.Collectors) - 1; last < 0 || p.Collectors[last].Name != j.Last.Collector {
			p.Collectors = append(p.Collectors, collectorView{Name: j.Last.Collector, oldest: j.Last.At, longest: -1})
		}
		c := &p.Collectors[len(p.Collectors)-1]
		c.Targets++
		for _, chunk := range j.Fresh(p.Now) {
			c.Series += chunk.Series
		}
		if !j.Last.At.After(c.oldest) {
			c.oldest, c.Last = j.Last.At, since(p.Now, j.Last.At)
			c.Last.Title = "the oldest, of " + j.Last.Target.String() + ": " + c.Last.Title
		}
		if j.Last.Took > c.longest {
			c.longest, c.Took = j.Last.Took, cell{Text: took(j.Last.Took), Title: "the longest, of " + j.Last.Target.String()}
		}
		switch {
		case j.Last.Err != nil:
			c.fails++
		case !p.Now.Before(j.Good.Until):
			// It went well, and in three periods it has not run again.
			c.stopped++
			p.problems.add("AvaxDataTooOld", bad, 1, place{Text: j.Last.Collector + " of " + j.Last.Target.String(), Anchor: "collectors"})
		default:
			good++
		}
		switch {
		case c.stopped > 0:
			c.State = cell{Text: count(float64(c.stopped)) + " stopped", Title: "no run for three periods", Level: bad}
		case c.fails > 0:
			c.State = cell{Text: plural(c.fails, "fails", "fail"), Level: warn}
		default:
			c.State = cell{Text: "good"}
		}
	}
	p.sum(good, len(p.jobs), "collector run", "collector runs", "good")
}

// follows returns what the failure of a node's or a chain's job comes from, as
// avax:collector_success in alerts/rules.yml leaves it out.
func (p *page) follows(nodes map[string]*nodeView) func(node, chain string) string {
	bootstrapped := p.by("avax_node_chain_bootstrapped", "node", "chain")
	unready := 0
	for name, n := range nodes {
		if n.Down || bootstrapped.is(0, name, "P") {
			unready++
		}
	}
	return func(node, chain string) string {
		switch {
		case node != "" && nodes[node].Down:
			return node + " is down"
		case node != "" && bootstrapped.is(0, node, "P"):
			return "chain P is not bootstrapped on " + node
		case node != "" && bootstrapped.is(0, node, chain):
			return "chain " + chain + " is not bootstrapped on " + node
		case unready > 0 && unready == len(nodes):
			return "no node can be asked"
		}
		return ""
	}
}
