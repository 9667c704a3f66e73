package nodes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

const (
	// askedFirst is the number of nodes that are asked for a fact about the network or a chain. If their answers are the same, no other is.
	askedFirst = 3
	// askedAtMost is the number of nodes that are asked if the answers differ.
	askedAtMost = 25
	// changeLasts is how far apart nodes are at a change, such as of an epoch.
	changeLasts = 2 * time.Second
	// contradictedFor is how long a node counts as contradicted: longer than the longest period of a collector that compares.
	contradictedFor = 15 * time.Minute
	// contradictedAfter is the shortest time from the first to the last contradiction of a node that counts as contradicted. Answers that are
	// late by chance differ once.
	contradictedAfter = 50 * time.Second
)

// Deciding returns how many of n voices about a growing number, such as a height, are left out from the top: what the next one says has been reached by most
// of the others, or by it and another source. With one or two voices none is left out: the highest one is believed.
func Deciding(n int) int { return (n - 1) / 2 }

// Most returns how many of n voices about a fact must say the same.
func Most(n int) int { return n/2 + 1 }

// Reached returns the number that most voices have reached. It panics without voices.
func Reached(voices []float64) float64 {
	sorted := slices.Sorted(slices.Values(voices))
	return sorted[len(sorted)-1-Deciding(len(sorted))]
}

// ReachedBy returns what a chain has reached, where nodes may be at different blocks: the answer that Deciding selects. compare orders the answers. A node
// may be ahead or behind, so nobody is contradicted. It requests the answer from three healthy nodes, and from up to 25 if theirs differ.
func ReachedBy[T any](ctx context.Context, p *Pool, _ Basis, compare func(a, b T) int, call func(context.Context, *Node) (T, error)) (T, error) {
	own, observers := p.OfNetwork()
	healthy := answering(own)
	asked := min(askedFirst, len(healthy))
	votes := ballot[T]{same: func(a, b T) bool { return compare(a, b) == 0 }}
	votes.ask(ctx, healthy[:asked], call)
	if rest := healthy[asked:]; !votes.unanimous() && len(rest) > 0 {
		votes.ask(ctx, rest, call)
	}
	if len(votes.from) == 0 {
		return votes.elsewhere(ctx, without(slices.Concat(own, observers), healthy[:asked]), call)
	}
	slices.SortFunc(votes.values, compare)
	return votes.values[len(votes.values)-1-Deciding(len(votes.values))], nil
}

// Agreed returns a fact about the network or a chain, which is the same on all nodes. It requests the fact from three healthy nodes. If their
// answers are the same, it returns the first. If they are not, it requests new answers, then the fact from up to 25 healthy nodes and the observers,
// and returns the answer of more than half of those that answered. If there is no such answer, it returns an error that names the nodes. If too few
// of the first three answer, it asks the others at once. With less than two healthy nodes there is nothing to compare, and Agreed is First.
func Agreed[T any](ctx context.Context, p *Pool, fact Fact, same func(a, b T) bool, call func(context.Context, *Node) (T, error)) (T, error) {
	all, err := Agreeing(ctx, p, fact, same, call)
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

// Agreeing is like Agreed, but returns all answers that are the same.
func Agreeing[T any](ctx context.Context, p *Pool, fact Fact, same func(a, b T) bool, call func(context.Context, *Node) (T, error)) ([]T, error) {
	own, observers := p.OfNetwork()
	healthy := answering(own)
	if len(healthy) < 2 {
		v, err := firstOf(ctx, slices.Concat(own, observers), call)
		return []T{v}, err
	}
	asked := min(askedFirst, len(healthy))
	votes := ballot[T]{same: same}
	votes.ask(ctx, healthy[:asked], call)
	rest := healthy[asked:]
	if len(votes.from) > 0 && len(votes.from) < min(askedFirst, len(healthy)/2+1) && len(rest) > 0 {
		votes.ask(ctx, rest, call)
		rest = nil
	}
	votes.again(ctx, 0, call)
	if Majority(votes.values, same) == nil {
		votes.again(ctx, changeLasts, call)
	}
	if len(votes.from) > 0 && !votes.unanimous() {
		votes.ask(ctx, slices.Concat(rest, observers), call)
	}
	if len(votes.from) == 0 {
		v, err := votes.elsewhere(ctx, without(slices.Concat(own, observers), healthy[:asked]), call)
		return []T{v}, err
	}
	most := Majority(votes.values, same)
	if most == nil {
		return nil, fmt.Errorf("%s: %s report different values, and no value has a majority: compare these nodes with another one, or add one to AVAX_OBSERVERS",
			fact.Name, strings.Join(Names(votes.from), ", "))
	}
	p.NoteContradicted(fact, votes.from, most)
	var group []T
	for _, i := range most {
		group = append(group, votes.values[i])
	}
	return group, nil
}

// answering returns the first nodes that are healthy and answer, up to askedAtMost.
func answering(all []*Node) (healthy []*Node) {
	for _, n := range all {
		if n.Healthy() && !n.unreachable(0) {
			healthy = append(healthy, n)
		}
		if len(healthy) == askedAtMost {
			break
		}
	}
	return healthy
}

// without returns the nodes that are not among others.
func without(all, others []*Node) []*Node {
	return slices.DeleteFunc(all, func(n *Node) bool { return slices.Contains(others, n) })
}

// ballot holds the answers of several nodes to the same question.
type ballot[T any] struct {
	same   func(a, b T) bool
	from   []*Node // that answered
	values []T
	errs   []error
}

// ask calls these nodes concurrently, for half of the remaining time.
func (b *ballot[T]) ask(ctx context.Context, all []*Node, call func(context.Context, *Node) (T, error)) {
	ctx, cancel := DivideTime(ctx, 2)
	defer cancel()
	from, values, errs := callAll(ctx, all, true, func(ctx context.Context, n *Node) (T, error) { return checked(ctx, n, call) })
	b.from, b.values, b.errs = append(b.from, from...), append(b.values, values...), append(b.errs, errs...)
}

// again waits and repeats the question if the answers differ. It keeps the new answers only if each node has answered again. Answers of different
// age differ after a change, and nodes are a few seconds apart.
func (b *ballot[T]) again(ctx context.Context, after time.Duration, call func(context.Context, *Node) (T, error)) {
	if deadline, bounded := ctx.Deadline(); len(b.from) < 2 || b.unanimous() || bounded && time.Until(deadline) < 2*after {
		return
	}
	select {
	case <-time.After(after):
	case <-ctx.Done():
		return
	}
	newer := ballot[T]{same: b.same}
	if newer.ask(scrape.Fresh(ctx), b.from, call); len(newer.from) == len(b.from) {
		b.values = newer.values
	}
}

// elsewhere returns the first answer of the others, if none of the first nodes has answered. If those do not offer the method or lack the answer,
// the others do too, and are not called.
func (b *ballot[T]) elsewhere(ctx context.Context, others []*Node, call func(context.Context, *Node) (T, error)) (v T, err error) {
	if i := slices.IndexFunc(b.errs, node.MayLack); i >= 0 {
		return v, b.errs[i]
	} else if len(b.errs) >= askedFirst && !slices.ContainsFunc(b.errs, func(err error) bool { return !node.IsNotOffered(err) }) {
		return v, b.errs[0]
	}
	if len(others) == 0 {
		return v, noAnswer(len(b.errs), b.errs)
	}
	v, err = firstOf(ctx, others, call)
	if NotServed(err) { // then what is wrong with the nodes matters
		err = noAnswer(len(others), append(b.errs, err))
	}
	return v, err
}

func (b *ballot[T]) unanimous() bool {
	return len(b.from) > 0 && len(like(b.values, 0, b.same)) == len(b.from)
}

// like returns the indexes of the answers that are the same as answer i.
func like[T any](values []T, i int, same func(a, b T) bool) (all []int) {
	for j := range values {
		if i == j || same(values[i], values[j]) {
			all = append(all, j)
		}
	}
	return all
}

// Majority returns the indexes of the answers that more than half of the nodes gave; nil if there is none.
func Majority[T any](values []T, same func(a, b T) bool) []int {
	for i := range values {
		if like := like(values, i, same); len(like) >= Most(len(values)) {
			return like
		}
	}
	return nil
}

// contradictedKey is a node or observer, and a fact about which it was contradicted.
type contradictedKey struct {
	node *Node
	fact string
}

// contradiction tells when the majority contradicted a node.
type contradiction struct{ first, last time.Time }

// NoteContradicted stores which nodes the majority contradicts about a fact: those whose index is not in most.
func (p *Pool) NoteContradicted(fact Fact, from []*Node, most []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, n := range from {
		if slices.Contains(most, i) {
			continue
		}
		r := contradictedKey{n, fact.Name}
		c, known := p.contradicted[r]
		if c.last = time.Now(); !known {
			c.first = c.last
		}
		p.contradicted[r] = c
	}
}

// Contradicted returns the facts for which the majority has contradicted a node or an observer more than once in the last minutes, by its name.
func (p *Pool) Contradicted() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	facts := map[string][]string{}
	all := slices.Concat(p.Nodes(), p.Observers())
	for r, c := range p.contradicted {
		if time.Since(c.last) > contradictedFor || !slices.Contains(all, r.node) {
			delete(p.contradicted, r)
		} else if c.last.Sub(c.first) >= contradictedAfter {
			facts[r.node.Name()] = append(facts[r.node.Name()], r.fact)
		}
	}
	for _, f := range facts {
		slices.Sort(f)
	}
	return facts
}
