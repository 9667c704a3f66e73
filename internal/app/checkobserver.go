package app

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// observations counts the requests to observers during one run of every job.
type observations struct {
	targets   *targets
	observers []*nodes.Node

	mu    sync.Mutex
	daily map[string]float64 // by observer
}

type jobKey struct{}

// observe starts counting the requests to observers.
func observe(t *targets) *observations {
	o := &observations{targets: t, observers: t.ups.Observers(), daily: map[string]float64{}}
	t.admit = o.admit
	return o
}

// with returns the context for a job. A request in this context counts as many times as the job runs per day.
func (o *observations) with(ctx context.Context, j schedule.Job) context.Context {
	if len(o.observers) == 0 {
		return ctx
	}
	_, inADay := busiest(j.When, time.Now())
	return context.WithValue(ctx, jobKey{}, inADay)
}

func (o *observations) admit(ctx context.Context, upstream string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.ContainsFunc(o.observers, func(n *nodes.Node) bool { return n.Name() == upstream }) {
		runs, _ := ctx.Value(jobKey{}).(int)
		o.daily[upstream] += float64(runs)
	}
	return nil
}

// print prints what each observer offers, and the rate of requests to it.
func (o *observations) print(out io.Writer, budget int) {
	for _, n := range o.observers {
		fmt.Fprintf(out, "\nobserver %s: about %.1f calls per minute; limit %d\n", n.Name(), o.daily[n.Name()]/day.Minutes(), budget)
		offered := map[string]bool{}
		for _, offer := range n.Offers() {
			offered[offer.Op] = offered[offer.Op] || offer.Err == nil
		}
		listed := map[string]bool{}
		for _, offer := range n.Offers() {
			if listed[offer.Op] {
				continue
			}
			listed[offer.Op] = true
			if offered[offer.Op] {
				fmt.Fprintf(out, "  offers          %s\n", offer.Op)
				continue
			}
			fmt.Fprintf(out, "  does not offer  %s (%s)\n", offer.Op, scrape.OutcomeOf(offer.Err))
		}
		if len(listed) == 0 {
			fmt.Fprintln(out, "  no answer")
		}
	}
}
