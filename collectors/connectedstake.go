package collectors

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	nodeConnectedStake = metric.New("avax_node_connected_stake_ratio",
		"Share of all primary-network stake (0 to 1) that this node is connected to, including the node's own stake. Absent if the node runs without sybil "+
			"protection.", "node")
	nodeVersionStake = metric.New("avax_node_version_stake_ratio",
		"Share of all primary-network stake (0 to 1) that is connected to this node and has this version, including the node's own stake. Only the 20 versions "+
			"with the most stake have series of their own. The series version=other is the sum of the others.",
		"node", "version")
	newerVersionStake = metric.New("avax_node_newer_version_stake_ratio",
		"Share of all primary-network stake (0 to 1) that is connected to this node and runs a newer version.", "node")
	unknownUpgrade = metric.New("avax_node_unknown_upgrade_timestamp_seconds",
		"Time in Unix seconds of an upgrade that most of the connected stake announces but this node does not know. Absent if there is no such upgrade.", "node")
)

var connectedStake = &collector.Spec{
	Name:     "connected_stake",
	Critical: true,
	Help:     "Stake that the node is connected to, by version, and upgrades that the node does not know.",
	Calls:    []string{"info.peers", "info.getNodeID", "info.getNodeVersion", "info.upgrades", "info.uptime", "platform.getCurrentValidators"},
	Every:    time.Minute,
	Families: []*metric.Family{nodeConnectedStake, nodeVersionStake, newerVersionStake, unknownUpgrade},
	Bind:     collector.Per(collector.Nodes, collectConnectedStake),
}

func collectConnectedStake(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n := on.Node
	r, err := primaryReach(ctx, ups, n)
	if err != nil {
		return err
	}
	own, err := n.NodeVersion(ctx)
	if err != nil {
		return err
	}
	known, err := n.Upgrades(scrape.MaxAge(ctx, collector.StaticAge))
	if err != nil {
		return err
	}
	if r.all == 0 {
		return nil
	}
	all, newer := r.all, uint64(0)
	byVersion := map[string]uint64{own.Version: r.stake[r.self]}
	for _, p := range r.peers {
		byVersion[p.Version] += r.stake[p.NodeID]
	}
	out.Set(nodeConnectedStake, float64(r.connected)/float64(all), n.Name())
	soonAfterReturn(n, staking.Share(r.connected, all) >= staking.Quorum, out)
	runs, comparable := releaseOf(own.Version)
	maps.DeleteFunc(byVersion, func(_ string, s uint64) bool { return s == 0 })
	for version, s := range collector.TopCounts(byVersion) {
		out.Set(nodeVersionStake, float64(s)/float64(all), n.Name(), version)
	}
	for version, s := range byVersion {
		if r, ok := releaseOf(version); ok && r.newer(runs) {
			newer += s
		}
	}
	if comparable {
		out.Set(newerVersionStake, float64(newer)/float64(all), n.Name())
	}
	at, unknown := announced(r.peers, r.stake)
	for _, k := range known.Scheduled() {
		unknown = unknown && at.After(k)
	}
	if unknown {
		out.SetTime(unknownUpgrade, at, n.Name())
	}
	return nil
}

// release is a parsed version, such as avalanchego/1.15.0.
type release struct {
	name    string
	numbers [3]uint64
}

// releaseOf parses a version as nodes and peers report it.
func releaseOf(version string) (r release, ok bool) {
	name, numbers, _ := strings.Cut(version, "/")
	parts := strings.Split(numbers, ".")
	if r.name = name; len(parts) != len(r.numbers) {
		return r, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return r, false
		}
		r.numbers[i] = n
	}
	return r, true
}

// newer reports whether r comes after another release of the same software.
func (r release) newer(than release) bool {
	return r.name == than.name && slices.Compare(r.numbers[:], than.numbers[:]) > 0
}

// announced returns the upgrade time that more than half of the connected stake announces. ok is false if there is no
// such time.
func announced(peers []node.Peer, stake map[string]uint64) (at time.Time, ok bool) {
	var connected uint64
	votes := map[int64]uint64{}
	for _, p := range peers {
		connected += stake[p.NodeID]
		if p.UpgradeTime != nil {
			votes[p.UpgradeTime.Unix()] += stake[p.NodeID]
		}
	}
	for t, s := range votes {
		if s > connected-s {
			return time.Unix(t, 0), true
		}
	}
	return time.Time{}, false
}
