package backtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// checkpoint is the state of an evaluation at the time Next. Stored samples are not part of it: the next run reads those before Next again.
// Results follow it in the file, see results.
type checkpoint struct {
	Options        string // hash, see Options.hash
	From, To, Next time.Time
	Before         bool

	Ended   []*Incident
	Open    map[string]*Incident
	Waiting map[string]string // alerts that are pending
	Pending map[string]int
	First   map[string]time.Time
	Errors  []string
	Rules   []ruleState // in the order of evaluation
}

// ruleState is what a rule keeps from one evaluation to the next.
type ruleState struct {
	Last   []labels.Labels
	Active []activeAlert
}

type activeAlert struct {
	rules.Alert
	Text string // of Value: JSON has no NaN
}

// results are samples of a series that a rule returned.
type results struct {
	Series  labels.Labels
	Samples []byte // a chunk of Prometheus

	chunkenc.Iterator `json:"-"`
	kind              chunkenc.ValueType
}

// hash returns the same text for options that find the same in a range. The text does not contain the URL, which may contain a password.
func (o Options) hash() (string, error) {
	content, err := json.Marshal([]any{"with results", o.Server, o.Groups, o.Interval, o.Matchers, o.External})
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// save writes the checkpoint that describes the state at a time, and the results until then.
func (r *run) save(ctx context.Context, content []byte, at time.Time) error {
	if content == nil {
		return nil
	}
	all, err := r.results(context.WithoutCancel(ctx), at)
	if err == nil {
		var results []byte
		results, err = json.Marshal(all)
		content = append(content, results...)
	}
	if err == nil {
		err = renameio.WriteFile(r.o.Checkpoint, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("save the checkpoint: %w", err)
	}
	return nil
}

// checkpoint returns what a run needs that continues at a time; nil if none is asked for, or if the range has not begun.
func (r *run) checkpoint(next time.Time) ([]byte, error) {
	if r.o.Checkpoint == "" || !next.After(r.from) {
		return nil, nil
	}
	hash, err := r.o.hash()
	if err != nil {
		return nil, err
	}
	c := checkpoint{hash, r.o.From, r.o.To, next, r.before, r.ended, r.open, r.pending, r.result.Pending, r.first, r.result.Errors, nil}
	r.plan.each(func(rule *rule) { c.Rules = append(c.Rules, rule.state()) })
	return json.Marshal(c)
}

// state returns what a rule keeps from one evaluation to the next.
func (r *rule) state() (s ruleState) {
	s.Last = slices.Collect(maps.Values(r.last))
	if r.alert != nil {
		r.alert.ForEachActiveAlert(func(a *rules.Alert) {
			if a.State != rules.StateInactive {
				one := activeAlert{*a, strconv.FormatFloat(a.Value, 'g', -1, 64)}
				one.Value = 0
				s.Active = append(s.Active, one)
			}
		})
	}
	return s
}

// restore gives a rule the state that it had at a time.
func (r *rule) restore(ctx context.Context, s ruleState, at time.Time) error {
	r.last = map[uint64]labels.Labels{}
	for _, l := range s.Last {
		r.last[l.Hash()] = l
	}
	if r.alert == nil || len(s.Active) == 0 {
		return nil
	}
	var vector promql.Vector
	known := map[string]rules.Alert{}
	for _, a := range s.Active {
		v, err := strconv.ParseFloat(a.Text, 64)
		if err != nil {
			return err
		}
		a.Value, known[a.Labels.String()] = v, a.Alert
		vector = append(vector, promql.Sample{Metric: a.Labels, F: v})
	}
	_, err := r.alert.Eval(ctx, 0, at, func(context.Context, string, time.Time) (promql.Vector, error) { return vector, nil }, nil, 0)
	r.alert.ForEachActiveAlert(func(a *rules.Alert) {
		if before, ok := known[a.Labels.String()]; ok {
			*a = before
		}
	})
	return err
}

// results returns the results until a time that later evaluations may read.
func (r *run) results(ctx context.Context, until time.Time) (all []*results, err error) {
	names := []string{"ALERTS", "ALERTS_FOR_STATE"}
	r.plan.each(func(rule *rule) {
		if rule.record != nil {
			names = append(names, rule.name)
		}
	})
	q, err := r.store.Querier(r.oldest(until).UnixMilli(), until.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer q.Close()
	var it chunkenc.Iterator
	set := q.Select(ctx, false, nil, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, strings.Join(names, "|")))
	for set.Next() {
		it = set.At().Iterator(it)
		for kind := it.Next(); kind == chunkenc.ValFloat; {
			chunk := chunkenc.NewXORChunk()
			app, err := chunk.Appender()
			if err != nil {
				return nil, err
			}
			for ; kind == chunkenc.ValFloat && chunk.NumSamples() < math.MaxUint16; kind = it.Next() {
				t, v := it.At()
				app.Append(0, t, v)
			}
			all = append(all, &results{Series: set.At().Labels(), Samples: chunk.Bytes()})
		}
	}
	return all, set.Err()
}

// recall appends the results of an earlier run until a time.
func (r *run) recall(ctx context.Context, until time.Time) error {
	app := r.store.Appender(ctx)
	for _, s := range r.recalled {
		for ; s.kind == chunkenc.ValFloat && s.AtT() <= until.UnixMilli(); s.kind = s.Next() {
			t, v := s.At()
			if _, err := app.Append(0, s.Series, t, v); err != nil {
				return errors.Join(err, app.Rollback())
			}
		}
	}
	return app.Commit()
}

// resume continues an earlier run, if there is a checkpoint.
func (r *run) resume(ctx context.Context) error {
	if r.o.Checkpoint == "" {
		return nil
	}
	file, err := os.Open(r.o.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	var c checkpoint
	decoder := json.NewDecoder(file)
	damaged := func(err error) error {
		return fmt.Errorf("checkpoint %s: %w: delete the file to begin again", r.o.Checkpoint, err)
	}
	if err := decoder.Decode(&c); err != nil {
		return damaged(err)
	}
	hash, err := r.o.hash()
	if err != nil {
		return err
	}
	if c.Options != hash {
		return fmt.Errorf("checkpoint %s belongs to a command with other options (server, rules, labels or interval): repeat that command, or delete the file to "+
			"begin again", r.o.Checkpoint)
	}
	if err := decoder.Decode(&r.recalled); err != nil {
		return damaged(err)
	}
	for _, s := range r.recalled {
		chunk, err := chunkenc.FromData(chunkenc.EncXOR, s.Samples)
		if err != nil {
			return damaged(err)
		}
		s.Iterator = chunk.Iterator(nil)
		s.kind = s.Next()
	}
	states := c.Rules
	r.plan.each(func(rule *rule) {
		if err == nil && len(states) > 0 {
			err, states = rule.restore(ctx, states[0], c.Next), states[1:]
		}
	})
	if err != nil {
		return damaged(err)
	}
	r.continued, r.from, r.o.From, r.o.To, r.result.From, r.result.To = true, c.Next, c.From, c.To, c.From, c.To
	r.before, r.ended, r.first, r.open, r.pending = c.Before, c.Ended, c.First, c.Open, c.Waiting
	r.result.Pending, r.result.Errors = c.Pending, c.Errors
	for _, text := range c.Errors {
		r.errs[text] = true
	}
	return nil
}
