package collectors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	healthCheckFailing = metric.New("avax_node_health_check_failing",
		"1 if the last run of this health check failed, 0 if not. A check belongs to the node (network, diskspace) or to a chain, and runs every 30 s. Absent "+
			"until the check has run, and if the node does not offer the health API.",
		"node", "check").AtMost(collector.MaxNamed)
	chainProcessing = metric.New("avax_chain_processing_blocks",
		"Blocks of the chain that the node votes on and has not decided yet. While avax_chain_height does not rise, 0 means that the chain is idle, and a higher "+
			"value means that the chain is stuck.",
		"node", "chain").AtMost(collector.MaxNamed)
	chainLongestProcessing = metric.New("avax_chain_longest_processing_seconds",
		"Time in seconds for which the node has voted on the oldest undecided block.", "node", "chain").AtMost(collector.MaxNamed)

	chainAccepted = metric.New("avax_node_chain_accepted_height",
		"Height of the newest block that the node has accepted on the chain, from the health check of the chain, which runs every 30 s. The VM executes an "+
			"accepted block later: avax_chain_height is the height of the newest executed block.",
		"node", "chain").AtMost(collector.MaxNamed)
	diskFreeBytes = metric.New("avax_node_disk_free_bytes",
		"Free bytes of the volume that holds the node's database, from the health check diskspace.", "node")
	diskFreeRatio = metric.New("avax_node_disk_free_ratio",
		"Free share of the volume that holds the node's database, rounded down to one percent. By default, the node is unhealthy below 0.1 and stops below 0.03.",
		"node")

	chainDisconnected = metric.New("avax_node_chain_disconnected_validators",
		"Number of validators that the engine of the chain on the node is not connected to, from the health check of the chain. A benched validator counts. All "+
			"inactive L1 validators together count as one. /api/v1/tables names ten of them.",
		"node", "chain").AtMost(collector.MaxNamed)
	chainConnected = metric.New("avax_node_chain_connected_stake_ratio",
		"Share of the validators' weight that the engine of the chain on the node is connected to (0 to 1), from the health check of the chain. A node is "+
			"unhealthy below 0.8.",
		"node", "chain").AtMost(collector.MaxNamed)
	networkUpgrade = metric.New("avax_node_network_upgrade_timestamp_seconds",
		"Time of the newest network upgrade that most of the connected stake knows, in Unix seconds, from the health check futureupgrade. If it is later than the "+
			"newest upgrade of the node's release, the release is too old.",
		"node")
	networkUpgradeStake = metric.New("avax_node_network_upgrade_stake_ratio",
		"Share of all stake that is connected and knows this upgrade as the newest one (0 to 1).", "node")
	sendFailures = metric.New("avax_node_send_failure_ratio",
		"Share of the messages to peers that the node could not send (0 to 1), from the health check network. By default, the node is unhealthy above 0.9.", "node")
	sinceMessage = metric.New("avax_node_message_age_seconds",
		"Time since the last message from any peer when the health check network ran last, in seconds. By default, the node is unhealthy above 60. Absent without "+
			"peers.",
		"node")

	nodeHealthy = metric.New("avax_node_healthy",
		"1 if all health checks of the node pass, 0 if one fails, or if a check has not run for 90 s. Absent while some checks have not run and no check has "+
			"failed. Absent if the node does not offer the health API.",
		"node")
	nodePartialSync = metric.New("avax_node_partial_sync",
		"1 if the node runs with partial-sync-primary-network, 0 if not. Such a node validates only L1s. It runs P, but not X and C.",
		"node")
	chainStartFailed = metric.New("avax_node_chain_start_failed",
		"1 if the node tracks the monitored chain but could not start it, 0 if the chain started. Absent if the node does not track the chain. The log, the "+
			"status page and /api/v1/tables show the node's error text.",
		"node", "chain")
)

var health = &collector.Spec{
	Name:     "health",
	Critical: true,
	Help:     "Health checks of the node, free disk space, and the blocks that the node accepted and votes on.",
	Calls:    []string{"GET /ext/health", "info.isBootstrapped", "info.getBlockchainID"},
	Every:    time.Minute,
	Families: []*metric.Family{
		nodeHealthy, nodePartialSync, healthCheckFailing, chainStartFailed, chainProcessing, chainLongestProcessing, chainAccepted,
		diskFreeBytes, diskFreeRatio, chainDisconnected, chainConnected, networkUpgrade, networkUpgradeStake, sendFailures, sinceMessage,
	},
	Bind: collector.PerBegin(collector.Nodes, func() collector.Collect { return new(healthBefore).collect }),
}

func (before *healthBefore) collect(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n := on.Node
	answer, err := n.Health(ctx)
	if before.since.IsZero() && node.IsNotServed(err) { // the API is disabled, or a proxy in front of the node blocks the health API
		return fmt.Errorf("%w: %w", metric.ErrNotOffered, err)
	}
	if err != nil {
		return err
	}
	table := metric.Table{About: "Failing health checks of " + n.Name() + ", with the error text of the node.", Columns: []string{"Node", "Check", "Error"}}
	away := metric.Table{About: "Validators that the engine of a chain on " + n.Name() + " is not connected to.", Columns: []string{"Node", "Chain", "Validators"}}
	failing, names := map[string]string{}, map[string]bool{}
	waiting := false
	still := before.still(answer)
	out.SetBool(nodePartialSync, isPartialSync(answer), n.Name())
	checks := map[string]node.HealthCheck{} // of chains by Chain.Ref
	refs, err := ups.RefsOf(ctx, n, maps.Keys(answer.Checks))
	if err != nil {
		return err
	}
	for called, check := range answer.Checks {
		checks[refs[called]] = check
	}
	for ref, check := range checks {
		name := ups.ChainName(ref)
		names[name] = true
		reportCheck(ups, n, ref, check, out)
		waiting = waiting || check.Timestamp.IsZero()
		if check.Failure() != "" && !check.Timestamp.IsZero() {
			failing[name] = check.Failure()
		}
		if of := check.Message.Networking; of != nil && len(of.Disconnected) > 0 {
			away.Rows = append(away.Rows, []string{n.Name(), name, firstTen(of.Disconnected)})
		}
	}
	if votes := answer.Checks["futureupgrade"].Message.Upgrade; votes.At != nil && votes.Weight != nil && votes.At.Unix() > 0 {
		out.SetTime(networkUpgrade, votes.At.Time, n.Name())
		out.Set(networkUpgradeStake, votes.Weight.Ratio(), n.Name())
	}
	network := answer.Checks["network"].Message.Network
	if network.SendFailures != nil {
		out.Set(sendFailures, float64(*network.SendFailures), n.Name())
	}
	if network.SinceLast != nil {
		out.Set(sinceMessage, network.SinceLast.Seconds(), n.Name())
	}
	if still > maxStill {
		out.Note("the health checks of %s have not run for %s: one of them hangs", n.Name(), still.Round(time.Second))
	}
	if answer.Healthy || len(failing) > 0 || !waiting {
		out.SetBool(nodeHealthy, answer.Healthy && still <= maxStill, n.Name())
		soonAfterReturn(n, answer.Healthy && still <= maxStill, out)
	}
	gone := maps.Clone(before.texts) // failing checks that the answer lacks: one that only a node that stops has, or one of a chain that got a name since
	maps.DeleteFunc(gone, func(name, _ string) bool { return names[name] })
	first := before.first(failing)
	if waiting { // more checks may come
		maps.Copy(before.texts, gone)
		clear(gone)
	}
	for name := range gone {
		out.Set(healthCheckFailing, 0, n.Name(), name)
	}
	byText := map[string][]string{} // with one cause, such as a lost connection, all chains have the same text
	for _, name := range slices.Sorted(maps.Keys(failing)) {
		table.Rows = append(table.Rows, []string{n.Name(), name, failing[name]})
		byText[first[name]] = append(byText[first[name]], name)
	}
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		out.Note("failing health checks of %s: %s: %s", n.Name(), firstTen(byText[text]), text)
	}
	out.Table(table)
	slices.SortFunc(away.Rows, slices.Compare)
	out.Table(away)
	return metric.WithSamples(errors.Join(answer.Incomplete(), before.lost(ctx, ups, n, checks)))
}

// reportCheck exports what one health check says. ref is the Ref of its chain, or the name of the check.
func reportCheck(ups *collector.Upstreams, n *nodes.Node, ref string, check node.HealthCheck, out *metric.Batch) {
	name, message := ups.ChainName(ref), check.Message
	if !check.Timestamp.IsZero() { // the check has run
		out.SetBool(healthCheckFailing, check.Failure() != "", n.Name(), name)
		if slices.ContainsFunc(ups.SubnetChains(), func(c nodes.Chain) bool { return c.Ref == ref }) {
			out.SetBool(chainStartFailed, strings.Contains(check.Failure(), startFailed), n.Name(), name)
		}
	}
	if blocks := message.ProcessingBlocks; blocks != nil {
		out.Set(chainProcessing, float64(*blocks), n.Name(), name)
	}
	if longest := message.LongestProcessingBlock; longest != nil {
		out.Set(chainLongestProcessing, longest.Seconds(), n.Name(), name)
	}
	if accepted := message.LastAcceptedHeight; accepted != nil {
		out.Set(chainAccepted, float64(*accepted), n.Name(), name)
	}
	if free := message.DiskFreeBytes; free != nil {
		out.Set(diskFreeBytes, float64(*free), n.Name())
	}
	if free := message.DiskFreePercent; free != nil {
		out.Set(diskFreeRatio, float64(*free)/100, n.Name())
	}
	if of := message.Networking; of != nil {
		out.Set(chainDisconnected, float64(len(of.Disconnected)), n.Name(), name)
		out.Set(chainConnected, float64(of.ShareConnected), n.Name(), name)
	}
}

// lost returns an error if the answers have lacked the state of a chain for two runs, although the node has bootstrapped the chain. A check runs half a
// minute after that.
func (before *healthBefore) lost(ctx context.Context, ups *collector.Upstreams, n *nodes.Node, checks map[string]node.HealthCheck) error {
	var errs []error
	lacking := map[string]bool{}
	for _, c := range ups.AllChains() {
		check, there := checks[c.Ref]
		if check.Message.LastAcceptedHeight != nil || there && check.Timestamp.IsZero() {
			continue
		}
		if runs, err := n.IsBootstrapped(ctx, c.Ref); err != nil || !runs {
			continue
		}
		if lacking[c.Ref] = true; before.lacking[c.Ref] {
			errs = append(errs, fmt.Errorf("GET /ext/health: the state of chain %s is missing, which the node has bootstrapped", c.Name))
		}
	}
	before.lacking = lacking
	return errors.Join(errs...)
}

// maxStill is how long a health check may not run. A node runs its checks every 30 s. If one check hangs, none runs any more, and
// the node repeats its last results.
const maxStill = 90 * time.Second

// healthBefore is what a run needs to know from earlier runs for the same node.
type healthBefore struct {
	// texts are the first error texts of the failing checks. The text often changes while a check fails, but only the first one is logged.
	texts map[string]string
	// lacking are the chains whose state was missing in the last answer.
	lacking map[string]bool
	// oldest is the time of the check that ran the longest time ago, in the answers since a time.
	oldest, since time.Time
}

// still returns for how long the oldest check has not run. It compares answers, so that it does not depend on the node's clock.
func (before *healthBefore) still(answer node.Health) time.Duration {
	var oldest time.Time
	for _, check := range answer.Checks {
		if at := check.Timestamp.Time; !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	if before.since.IsZero() || !before.oldest.Equal(oldest) {
		before.oldest, before.since = oldest, time.Now()
	}
	return time.Since(before.since)
}

// first returns the first error texts of the checks that fail now, and stores them.
func (before *healthBefore) first(failing map[string]string) map[string]string {
	first := maps.Clone(failing)
	for check := range failing {
		if text, known := before.texts[check]; known {
			first[check] = text
		}
	}
	before.texts = first
	return first
}

// startFailed is a part of the error text of a chain's health check. It means that the node could not start the chain.
const startFailed = "failed to create chain"

// isPartialSync reports whether the node runs only P of the primary network. Only a node with partial sync has the
// health check named validation.
func isPartialSync(h node.Health) bool {
	_, present := h.Checks["validation"]
	return present
}

// omits reports whether the node does not run the chain because of partial sync. It calls the health API.
func omits(ctx context.Context, n *nodes.Node, c nodes.Chain) bool {
	if c.Ref != "X" && c.Ref != "C" {
		return false
	}
	h, err := n.Health(scrape.MaxAge(ctx, time.Minute))
	return err == nil && isPartialSync(h)
}
