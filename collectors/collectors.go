// Package collectors calls nodes and services and converts their answers into samples. Each collector has one file with
// its metric families, its Spec and its collect function. All lists the collectors; there is no other registration.
package collectors

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Spec declares a collector.
type Spec struct {
	// Name identifies the collector in the configuration and the log. It is the value of the label collector.
	Name string
	// Help describes in one sentence what the collector exports.
	Help string
	// Calls are the methods that the collector calls, by their names in the upstream's API.
	Calls []string
	// Every is the default period. The configuration may replace it with a cron expression.
	Every time.Duration
	// EveryFor, if set, replaces Every: the default period depends on the monitored validators.
	EveryFor func(Validators) time.Duration
	// Shares sets the maximum age of answers that a run may share with other collectors: one period if true, half a
	// period if false. Set Shares if other collectors make the same calls to every node.
	Shares bool
	// Off disables the collector by default.
	Off bool
	// Probe: the job of a node also runs when calls to that node start to fail or start to succeed.
	Probe bool
	// Paged: alerts of severity page need the samples.
	Paged bool
	// OnChange: the collector also runs when a node stops answering or starts to answer.
	OnChange bool
	// Families are the metric families of the collector's samples.
	Families []*metric.Family
	// Bind returns the collector's jobs, each with a different target. It calls no upstream.
	Bind func(*Upstreams) []Job
	// Cost estimates how often each method in Calls is called at the Data service if all jobs of the collector run once.
	// The parameter jobs is the number of jobs. A list counts as one page, or more if the collector knows the number of
	// pages. Runs that read the history of a list make more calls. Nil: the collector does not call the Data service.
	Cost func(w Watchlist, jobs int) map[string]int
}

// Period returns the default period for these monitored validators.
func (s *Spec) Period(v Validators) time.Duration {
	if s.EveryFor != nil {
		return s.EveryFor(v)
	}
	return s.Every
}

// WithoutNodes reports whether the collector works if the Data service is the only upstream. The service does not tell the newest
// block of a chain.
func (s *Spec) WithoutNodes() bool {
	return s.Cost != nil && !slices.Contains(s.Calls, "eth_getBlockByNumber")
}

// Job is a collector bound to a target.
type Job struct {
	Target metric.Target
	// Collect calls the upstreams and fills the batch. If it returns an error other than nodes.ErrNotOffered, the batch is
	// dropped.
	Collect func(ctx context.Context, out *metric.Batch) error
}

// errNoNodeAnswers means that no configured node answers. This error ends the samples of earlier runs, because these
// samples show what the nodes observed before they stopped.
var errNoNodeAnswers = errors.New("no configured node answers")

// storedError is the error of a run that failed, but has stored totals.
type storedError struct{ error }

// Unwrap returns the cause.
func (e *storedError) Unwrap() error { return e.error }

// HasSamples reports whether the samples of a run with this error are exported: they are the totals up to an earlier run. Without
// them, the totals would be absent from a restart to the next answer of the service.
func HasSamples(err error) bool { return errors.As(err, new(*storedError)) }

// EndsSamples reports whether a run with this error ends the samples of earlier runs, before they expire.
func EndsSamples(err error) bool { return errors.Is(err, errNoNodeAnswers) }

// ifRejected returns a SettingError if the upstream rejects the value of the variable, and err otherwise.
func ifRejected(err error, variable string) error {
	if scrape.OutcomeOf(err) == scrape.Rejected && !errors.Is(err, nodes.ErrNotOffered) {
		return &nodes.SettingError{Variable: variable, Err: err}
	}
	return err
}

// ifUnknown returns a SettingError if the service rejects or does not know the value of the variable, and err otherwise.
func ifUnknown(err error, variable string) error {
	if scrape.OutcomeOf(err) == scrape.NotFound {
		return &nodes.SettingError{Variable: variable, Err: err}
	}
	return ifRejected(err, variable)
}

// All returns all collectors, in the order in which documents and the status page list them.
func All() []*Spec {
	return []*Spec{
		up,
		identity,
		fleet,
		bootstrap,
		uptime,
		peers,
		stakingPort,
		connectedStake,
		health,
		upgrades,
		acps,
		admin,
		network,
		networkViews,
		supply,
		validators,
		validatorViews,
		rewardBudget,
		delegations,
		payouts,
		addresses,
		assets,
		heads,
		blocks,
		forks,
		chainStatus,
		chainInfo,
		chainConfig,
		transactionPool,
		chainRules,
		feeConfig,
		l1,
		l1Views,
		l1Runway,
		l1Proposers,
		safeToStop,
		variants,
		observer,
		tps,
		dataUp,
		dataIndex,
		dataBlockchains,
		subnets,
		rewards,
		nativeBalances,
		collectibles,
		transfers,
		internalTransactions,
		deployments,
		assetTransactions,
		icm,
		signatures,
		nftMetadata,
	}
}

// fullSetEvery is the minimum time between two requests for a whole validator set. On Mainnet the answer is larger
// than 1 MB, and the node iterates over all stakers to build the answer.
const fullSetEvery = 5 * time.Minute

// staticAge is the maximum age of answers that change only with an upgrade or a transaction.
const staticAge = nodes.StaticAge
