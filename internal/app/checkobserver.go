package app

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// observations count what one run of every job asks of the observers.
type observations struct {
	observers []*collectors.Node

	mu    sync.Mutex
	daily map[string]float64 // as often as the jobs run that made them
}

type jobKey struct{}

// observe counts the requests to the observers from now on.
func observe(t *targets) *observations {
	o := &observations{observers: t.shard.Observers(), daily: map[string]float64{}}
	t.observed = func(ctx context.Context, observer string) {
		runs, _ := ctx.Value(jobKey{}).(int)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.daily[observer] += float64(runs)
	}
	return o
}

// of returns the context in which a job is run.
func (o *observations) of(ctx context.Context, j schedule.Job) context.Context {
	if len(o.observers) == 0 {
		return ctx
	}
	_, inADay := busiest(j.When, time.Now())
	return context.WithValue(ctx, jobKey{}, inADay)
}

// print tells what each observer offers, and how often it will be asked.
func (o *observations) print(out io.Writer, budget int) {
	for _, n := range o.observers {
		fmt.Fprintf(out, "\nobserver %s: about %.1f calls a minute, of %d that are allowed\n", n.Name(), o.daily[n.Name()]/day.Minutes(), budget)
		offered := map[string]bool{}
		for _, offer := range n.Offers() {
			offered[offer.Op] = offered[offer.Op] || offer.Err == nil
		}
		told := map[string]bool{}
		for _, offer := range n.Offers() {
			if told[offer.Op] {
				continue
			}
			told[offer.Op] = true
			if offered[offer.Op] {
				fmt.Fprintf(out, "  offers          %s\n", offer.Op)
				continue
			}
			fmt.Fprintf(out, "  does not offer  %s (%s)\n", offer.Op, scrape.OutcomeOf(offer.Err))
		}
		if len(told) == 0 {
			fmt.Fprintln(out, "  no answer")
		}
	}
}
