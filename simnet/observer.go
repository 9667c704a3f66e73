package simnet

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Observer is a public endpoint of another operator: a load balancer in front of two machines, golf and hotel. Each answer comes from
// one of the machines and is up to ObserverBehind old. The observer offers only calls about the network, and limits the rate of
// requests. It is an http.Handler. Its host in Transport is "observer.sim".
type Observer struct {
	endpoint
	machines   []*Node
	rng        *rand.Rand
	notOffered []string // methods, or services such as "info"
	limit      int      // requests per minute; 0: no limit
	pause      time.Duration
	requests   []time.Time // within the last minute
	refused    time.Time   // all requests are rejected until then
	stopped    bool
}

// ObserverBehind is the maximum lag of the observer's machines.
const ObserverBehind = 6 * time.Second

// notOfferedMethods are the methods that the observer does not offer: methods about one machine, and expensive methods.
var notOfferedMethods = []string{
	"admin", "health", "validators",
	"info.getNodeID", "info.getNodeIP", "info.getVMs", "info.peers", "info.uptime", "info.acps",
	"platform.getBalance", "platform.getFeeState",
}

func newObserver(net *Network) *Observer {
	o := &Observer{rng: rand.New(rand.NewPCG(net.opts.Seed, 0x0b5)), notOffered: notOfferedMethods}
	for _, name := range []string{"golf", "hotel"} {
		o.machines = append(o.machines, newNode(net, net.mustMember(name)))
	}
	o.endpoint = endpoint{
		net:     net,
		name:    "observer",
		listens: func(time.Time) bool { return !o.stopped },
		wakes:   func(time.Time) time.Time { return time.Time{} },
		respond: o.respond,
		pattern: func(path string) string { return path },
		refuse:  textReply,
	}
	return o
}

// Observer returns the network's public endpoint.
func (n *Network) Observer() *Observer { return n.observer }

// respond answers a request. The caller holds the lock.
func (o *Observer) respond(now time.Time, q *query) reply {
	if rep, refused := o.refusal(now); refused {
		return rep
	}
	methods := make([]string, 0, len(q.rpc))
	for _, c := range q.rpc {
		methods = append(methods, c.Method)
	}
	if len(q.rpc) == 0 {
		methods = append(methods, strings.Trim(strings.TrimPrefix(q.URL.Path, "/ext/"), "/"))
	}
	for _, method := range methods {
		service, _, _ := strings.Cut(strings.ReplaceAll(method, "/", "."), ".")
		switch {
		case slices.Contains(o.notOffered, service):
			return textReply(http.StatusForbidden, "Forbidden")
		case slices.Contains(o.notOffered, method) && len(q.rpc) > 0:
			return newReply(http.StatusOK, "application/json", encode(rpcFailure(q.rpc[0].ID, -32601, "the method "+method+" does not exist/is not available", nil)))
		}
	}
	machine := o.machines[o.rng.IntN(len(o.machines))]
	behind := time.Duration(o.rng.Int64N(int64(ObserverBehind) + 1))
	v := &view{truth: &o.net.truth, net: o.net, node: machine, me: machine.member, now: now.Add(-behind)}
	rep := v.route(q)
	rep.header["Node-Id"] = []string{machine.member.id}
	return rep
}

// refusal returns a 429 if there are too many requests, and during the pause after that.
func (o *Observer) refusal(now time.Time) (rep reply, refused bool) {
	o.requests = slices.DeleteFunc(o.requests, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if o.limit > 0 && len(o.requests) >= o.limit {
		o.refused = now.Add(o.pause)
	}
	o.requests = append(o.requests, now)
	if !now.Before(o.refused) {
		return reply{}, false
	}
	rep = textReply(http.StatusTooManyRequests, "Too Many Requests")
	rep.header.Set("Retry-After", strconv.Itoa(int(o.refused.Sub(now).Seconds())+1))
	return rep, true
}

// Changes of the observer.

// SetLimit sets the maximum number of requests per minute; 0, the default, means no limit. Beyond it the observer answers 429, with
// this pause as Retry-After.
func (o *Observer) SetLimit(perMinute int, pause time.Duration) {
	o.net.change(func(time.Time) { o.limit, o.pause = perMinute, pause })
}

// RemoveMethods removes these methods or services from the observer.
func (o *Observer) RemoveMethods(methods ...string) {
	o.net.change(func(time.Time) { o.notOffered = slices.Concat(o.notOffered, methods) })
}

// Stop makes the observer refuse connections.
func (o *Observer) Stop() { o.net.change(func(time.Time) { o.stopped = true }) }

// Start ends Stop.
func (o *Observer) Start() { o.net.change(func(time.Time) { o.stopped = false }) }

// Inject applies a fault to these calls, named as in Call.Method, or to all calls.
func (o *Observer) Inject(f Fault, calls ...string) {
	o.net.change(func(time.Time) { o.inject(f, calls) })
}

// Recover removes all faults.
func (o *Observer) Recover() { o.net.change(func(time.Time) { o.faults = nil }) }
