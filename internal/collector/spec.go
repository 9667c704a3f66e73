// Package collector defines what a collector is: its declaration, its jobs and their targets, and the upstreams that it calls.
package collector

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
	// RareIfAll makes FullSetEvery the default period if all validators are monitored.
	RareIfAll bool
	// ReusesAnswers sets the maximum age of answers that a run may share with other collectors: nine tenths of a period if true, half a
	// period if false. Set it if other collectors make the same calls to every node.
	ReusesAnswers bool
	// Off disables the collector by default.
	Off bool
	// Probe: the job of a node also runs when calls to that node start to fail or start to succeed.
	Probe bool
	// Critical: alerts of severity page need the samples.
	Critical bool
	// OnChange: the collector also runs when a node stops answering or starts to answer.
	OnChange bool
	// Families are the metric families of the collector's samples.
	Families []*metric.Family
	// Bind returns the collector's jobs, each with a different target: see Per. It calls no upstream.
	Bind func(*Upstreams) []Job
	// Cost estimates how often each method in Calls is called at the Data service if all jobs of the collector run once.
	// The parameter jobs is the number of jobs. A list counts as one page, or more if the collector knows the number of
	// pages. Runs that read the history of a list make more calls. Nil: the collector does not call the Data service.
	Cost func(w Watchlist, jobs int) map[string]int
	// NeedsNoNode: the collector works with services alone, although it does not call the Data service.
	NeedsNoNode bool
}

// Period returns the default period for these monitored validators.
func (s *Spec) Period(v Validators) time.Duration {
	if s.RareIfAll && v.All {
		return FullSetEvery
	}
	return s.Every
}

// WithoutNodes reports whether the collector works if services are the only upstreams. The service does not tell the newest
// block of a chain.
func (s *Spec) WithoutNodes() bool {
	return s.NeedsNoNode || s.Cost != nil && !slices.Contains(s.Calls, "eth_getBlockByNumber")
}

// Job is a collector bound to a target.
type Job struct {
	Target metric.Target
	// Collect is a Collect function about the target.
	Collect func(ctx context.Context, out *metric.Batch) error
}

// IfRejected returns a SettingError if the upstream rejects the value of the variable, and err otherwise.
func IfRejected(err error, variable string) error {
	if scrape.OutcomeOf(err) == scrape.Rejected && !errors.Is(err, metric.ErrNotOffered) {
		return &nodes.SettingError{Variable: variable, Err: err}
	}
	return err
}

// IfUnknown returns a SettingError if the service rejects or does not know the value of the variable, and err otherwise.
func IfUnknown(err error, variable string) error {
	if scrape.OutcomeOf(err) == scrape.NotFound {
		return &nodes.SettingError{Variable: variable, Err: err}
	}
	return IfRejected(err, variable)
}

// FullSetEvery is the minimum time between two requests for a whole validator set. On Mainnet the answer is larger
// than 1 MB, and the node iterates over all stakers to build the answer.
const FullSetEvery = 5 * time.Minute

// StaticAge is the maximum age of answers that change only with an upgrade or a transaction.
const StaticAge = nodes.StaticAge
