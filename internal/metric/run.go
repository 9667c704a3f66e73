package metric

import (
	"cmp"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// Key identifies a job: collector and target.
type Key struct {
	Collector string `json:"collector"`
	Target    Target `json:"target"`
}

// Compare orders keys by collector, then by target.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Collector, o.Collector), k.Target.Compare(o.Target))
}

// Run is the result of one run of a job.
type Run struct {
	Key
	At   time.Time     // start
	Took time.Duration // duration
	// Until is when these samples expire, unless a later run replaces them before.
	Until  time.Time
	Period time.Duration // of the job's schedule
	Chunks []Chunk
	Tables []Table
	Facts  Facts
	Notes  []string // of the collector, about what is wrong or missing
	// Err is the error of a failed run. Chunks of a failed run is usually nil: the samples of the last good run stay until they
	// expire. With too many series of a family, a failed run has the samples of the other families. If a service fails, it may have
	// stored totals. If no configured node answers, its Chunks may be empty and not nil: this ends the samples of earlier runs.
	Err error
}

// Facts are exact results of a run that series cannot represent, for status pages. A nil field was not collected. Facts do not
// change after the run.
type Facts struct {
	// L1 is the validator set of the run's chain.
	L1 *staking.L1
	// Since is when the node of the run was last silent or changed its identity. What its jobs reported before does not count.
	Since time.Time
	// Again is when the collector wants to run before its time, because what is missing may be there soon; 0: not.
	Again time.Duration
	// Unreachable lists the configured nodes that the run counted as not connected, because they did not answer.
	Unreachable []string
	// Chains lists the chains of subnets that the run counted.
	Chains []string
	// ValidatorSets are the validator sets that decide whether nodes can stop.
	ValidatorSets *staking.ValidatorSets
}

// Table holds facts that are not series, such as the peers that observed too little uptime. A table never changes. Each run
// replaces it as a whole.
type Table struct {
	// About describes the rows in one sentence.
	About   string   `json:"about"`
	Columns []string `json:"columns"`
	// Rows have one cell per column, in display order. A cell is plain text, possibly from an upstream.
	Rows [][]string `json:"rows"`
	// LeftOut is the number of dropped rows.
	LeftOut int `json:"left_out,omitzero"`
}

// MaxRows is the maximum number of table rows of one run.
const MaxRows = 500

// Job is the state of one job in the store.
type Job struct {
	Last Run // latest run, failed or not
	// Good is the latest good run, usually Last itself. Its Key is empty if there was no good run. After a failed run whose Chunks
	// are not nil, Good has the samples of that run.
	Good *Run

	served  []Chunk // samples of the job on /metrics
	expired bool    // whether served was removed because of its age
	about   []Chunk // samples about the job
}

// Fresh returns the samples that may be served at t.
func (j Job) Fresh(t time.Time) []Chunk {
	if t.Before(j.Good.Until) {
		return j.Good.Chunks
	}
	return nil
}

// JobTable is a table and the job that added it.
type JobTable struct {
	Key
	Table
}

// Tables returns the tables of these jobs that are valid at t. Tables of one run stay in the order in which the run added them.
func Tables(jobs []*Job, t time.Time) []JobTable {
	var tables []JobTable
	for _, j := range jobs {
		if !t.Before(j.Good.Until) {
			continue
		}
		for _, found := range j.Good.Tables {
			tables = append(tables, JobTable{j.Last.Key, found})
		}
	}
	return tables
}
