package status

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Finding is what needs a person, although every call succeeded.
type Finding struct {
	About, Text string
	Do          string // what to do
}

// diskStops is the free share of the disk below which a node stops by default.
const diskStops = 0.03

// Findings returns what the samples of one run of each job say: failing health checks, and what validators, L1s and delegations lose.
func Findings(jobs []*metric.Job) (found []Finding) {
	st := Of(jobs, time.Time{}, Pool{})
	for _, n := range st.Nodes {
		found = append(found, n.failing()...)
	}
	const look = "The status page of the exporter shows the alerts about it and their actions."
	add := func(about string, fact State) {
		if fact.Severity >= Warn && fact.Err == nil {
			found = append(found, Finding{about, fact.Text, look})
		}
	}
	for _, v := range st.Validators {
		if v.Present.Is(1) { // a run that does not find a validator fails
			add(cmp.Or(st.NameOf(v.NodeID, ""), v.NodeID), v.Fact())
		}
	}
	for _, l := range st.L1s {
		add(l.Chain, l.State)
	}
	for _, d := range st.Delegations {
		add("delegation of "+d.Owner+" to "+cmp.Or(st.NameOf(d.NodeID, ""), d.NodeID), st.FactOf(d))
	}
	return found
}

// failing returns a finding for each error text of the node's failing health checks, and for a disk that is almost full.
func (n *Node) failing() (found []Finding) {
	free := words.Percent(n.DiskFree.V) + " of the disk is free, the node stops below " + words.Percent(diskStops)
	names := map[string][]string{}
	for _, check := range n.FailingChecks {
		if !n.lacksPeers() || !slices.Contains([]string{"P", "bootstrapped", "futureupgrade"}, check.Name) { // what follows from it
			names[check.Error] = append(names[check.Error], check.Name)
		}
	}
	said := false
	for _, text := range slices.Sorted(maps.Keys(names)) {
		one := Finding{n.Name, "health check " + strings.Join(names[text], ", ") + " fails", "Read the log of the node."}
		if text != "" {
			one.Text += ": " + text
		}
		switch is := func(check string) bool { return slices.Contains(names[text], check) }; {
		case is("diskspace"):
			said, one.Do = true, freeDisk
			if n.DiskFree.Known && n.DiskFree.V > 0 {
				one.Text += "; " + free
			}
		case is("network") && n.lacksPeers():
			one.Do = findPeers
		case is("bootstrapped"):
			one.Do = wait
		}
		found = append(found, one)
	}
	if n.DiskFree.Known && !said && n.DiskFree.V < 2*diskStops {
		found = append(found, Finding{n.Name, free, freeDisk})
	}
	return found
}
