package simnet

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Observer is a public endpoint: a load balancer before two machines of others, golf and hotel. Each answer is one
// machine's, up to ObserverBehind old. It offers what the network knows, and of a machine nothing; it limits the rate. It
// is an http.Handler, and its host of Transport is "observer.sim".
type Observer struct {
	endpoint
	machines []*Node
	rng      *rand.Rand
	withheld []string // methods, or services such as "info"
	limit    int      // requests a minute; 0: any number
	pause    time.Duration
	requests []time.Time // within the last minute
	refused  time.Time   // until when everything is
	stopped  bool
}

// ObserverBehind is how far the machines of the observer are behind the network at most.
const ObserverBehind = 6 * time.Second

// withheldMethods are those that the observer does not offer: what is about one machine, and what costs much.
var withheldMethods = []string{
	"admin", "health", "validators",
	"info.getNodeID", "info.getNodeIP", "info.getVMs", "info.peers", "info.uptime", "info.acps",
	"platform.getBalance", "platform.getFeeState",
}

func newObserver(net *Network) *Observer {
	o := &Observer{rng: rand.New(rand.NewPCG(net.opts.Seed, 0x0b5)), withheld: withheldMethods}
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

// respond answers a request, with the lock held.
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
		case slices.Contains(o.withheld, service):
			return textReply(http.StatusForbidden, "Forbidden")
		case slices.Contains(o.withheld, method) && len(q.rpc) > 0:
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

// refusal is a 429 while requests are too many, and for as long as it asks to wait.
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

// What a test or a demonstration may do to the observer.

// SetLimit makes the observer answer 429 beyond so many requests within a minute, and ask to be left alone for that
// time. 0 is no limit, as in the scene.
func (o *Observer) SetLimit(perMinute int, pause time.Duration) {
	o.net.change(func(time.Time) { o.limit, o.pause = perMinute, pause })
}

// Withhold makes the observer offer these methods or services no more.
func (o *Observer) Withhold(methods ...string) {
	o.net.change(func(time.Time) { o.withheld = slices.Concat(o.withheld, methods) })
}

// Stop makes the observer refuse connections.
func (o *Observer) Stop() { o.net.change(func(time.Time) { o.stopped = true }) }

// Start ends Stop.
func (o *Observer) Start() { o.net.change(func(time.Time) { o.stopped = false }) }

// Suffer makes a fault befall the named calls, as Call.Method spells them, or all if none is named.
func (o *Observer) Suffer(f Fault, calls ...string) {
	o.net.change(func(time.Time) { o.suffer(f, calls) })
}

// Recover ends all faults.
func (o *Observer) Recover() { o.net.change(func(time.Time) { o.faults = nil }) }
