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

// notEnoughStake is in the error of a chain's check on a node that is connected to too little of the chain's weight.
const notEnoughStake = "not connected to enough stake"

const fails = " fails: "

// Findings returns what the samples of one run of each job say: failing health checks, and what validators, L1s and delegations lose.
func Findings(jobs []*metric.Job) (found []Finding) {
	st := Of(jobs, time.Time{}, Pool{})
	const digits = "0123456789"
	of := map[Finding][]string{} // the names: one fault of many nodes is read once, in the words and numbers of the first
	var first []Finding
	shape := func(f Finding) Finding {
		if what, text, _ := strings.Cut(f.Text, fails); strings.ContainsAny(text, digits) {
			f.Text = what + fails + text[:strings.IndexAny(text, digits)]
		}
		return f
	}
	for _, n := range st.Nodes {
		for _, one := range n.failing() {
			if of[shape(one)] == nil {
				first = append(first, one)
			}
			of[shape(one)] = append(of[shape(one)], n.Name)
		}
	}
	for _, one := range first {
		found = append(found, Finding{words.Brief(of[shape(one)]), one.Text, one.Do})
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

// failing returns a finding, without the node's name, for each error text of the node's failing health checks, and for a disk that is almost full.
func (n *Node) failing() (found []Finding) {
	failed := n.notStarted()
	waits := slices.ContainsFunc(slices.Collect(maps.Values(n.chains)), func(c *NodeChain) bool { return c.Bootstrapped.Is(0) })
	free := words.Percent(n.DiskFree.V) + " of the disk is free, the node stops below " + words.Percent(diskStops)
	names := map[string][]string{}
	for _, check := range n.FailingChecks {
		ofPeers := n.lacksPeers() && slices.Contains([]string{"P", "bootstrapped", "futureupgrade"}, check.Name)
		if ofStart := len(failed) > 0 && !waits && check.Name == "bootstrapped"; !ofPeers && !ofStart { // else it follows from them
			names[check.Error] = append(names[check.Error], check.Name)
		}
	}
	said := false
	for _, text := range slices.Sorted(maps.Keys(names)) {
		one := Finding{"", "health check " + strings.Join(names[text], ", ") + fails + text, "Read the log of the node."}
		switch is := func(check string) bool { return slices.Contains(names[text], check) }; {
		case is("diskspace"):
			said, one.Do = true, words.FreeDisk
			if n.DiskFree.Known && n.DiskFree.V > 0 {
				one.Text += "; " + free
			}
		case is("network") && n.lacksPeers():
			one.Do = findPeers
		case is("bootstrapped"):
			one.Do = wait
		case slices.ContainsFunc(failed, is):
			one.Do = words.StartAgain
		case is("futureupgrade"):
			one.Do = "Install the release of AvalancheGo for the upgrade of the network."
		case strings.Contains(text, notEnoughStake):
			one.Do = "Do not restart the node. If other nodes are connected to more, check the internet connection and the firewall of this node."
		}
		found = append(found, one)
	}
	if n.DiskFree.Known && !said && n.DiskFree.V < 2*diskStops {
		found = append(found, Finding{"", free, words.FreeDisk})
	}
	return found
}
