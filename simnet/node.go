package simnet

import (
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Node is a participant with an API. It is an http.Handler that answers as a node's API does. It rejects requests unless their host is
// an IP address, localhost, or a name that ends in ".sim".
type Node struct {
	endpoint
	member *member

	stopped       bool
	started       time.Time // start of the process; zero: long before the origin
	isolated      bool      // whether the node has no connection to peers
	disconnected  bool
	hung          bool
	disabled      map[string]bool // APIs
	partial       bool            // syncs only P of the primary network
	disk          disk
	chains        map[*chain]chainFate
	stuck         map[*chain]time.Time // time since which the node accepts no blocks of a chain
	prefers       map[*chain]bool      // chains of which the node prefers a block that is not accepted
	forked        map[*chain]uint64    // height from which the node has its own blocks of a chain
	lost          map[lossOf]uint64    // what the node lacks, and the height from which it does
	maxLogs       uint64               // blocks of a query for logs; 0: no limit
	archive       bool                 // keeps the state of old blocks
	benched       map[*member][]string
	levels        map[string]logLevel
	aliases       map[string]*chain              // set by admin.aliasChain
	endpoints     map[string]string              // set by admin.alias
	unexecuted    map[*chain]bool                // chains in stuck whose blocks the node accepts but does not execute
	vmVersions    map[string]string              // of plugins that differ from the node's release
	upgrades      map[*chain][]precompileUpgrade // in the configuration of this node only
	stateUpgrades map[*chain][]time.Time         // in the configuration of this node only
}

// disk is the volume that holds the node's database.
type disk struct {
	free   float64 // bytes at the time since
	filled float64 // bytes a second
	since  time.Time
}

// diskSize is the size of each volume in bytes.
const diskSize = 284_436_457_244

func (d disk) at(now time.Time) float64 { return max(0, d.free-d.filled*now.Sub(d.since).Seconds()) }

// ChainState is the state of a chain on a node.
type ChainState int

// The states of a chain on a node.
const (
	Running       ChainState = iota
	Bootstrapping            // 503, not bootstrapped
	Failed                   // its VM did not start: 404, no such chain, and a failing health check
	Untracked                // 404, no such chain
	Dead                     // its VM ended: its calls hang, all health checks stand still, and everything else is as before
	leftOut                  // X and C of a node with partial sync: 404, never bootstrapped
)

type chainFate struct {
	state ChainState
	since time.Time
}

func newNode(net *Network, m *member) *Node {
	n := &Node{
		member:    m,
		chains:    make(map[*chain]chainFate),
		stuck:     make(map[*chain]time.Time),
		prefers:   make(map[*chain]bool),
		forked:    make(map[*chain]uint64),
		lost:      make(map[lossOf]uint64),
		benched:   make(map[*member][]string),
		levels:    make(map[string]logLevel),
		aliases:   make(map[string]*chain),
		disabled:  make(map[string]bool),
		endpoints: make(map[string]string),

		unexecuted:    make(map[*chain]bool),
		disk:          disk{free: 0.18 * diskSize},
		vmVersions:    make(map[string]string),
		upgrades:      make(map[*chain][]precompileUpgrade),
		stateUpgrades: make(map[*chain][]time.Time),
	}
	n.endpoint = endpoint{
		net:     net,
		name:    m.name,
		listens: n.listens,
		wakes:   n.wakes,
		respond: n.respond,
		pattern: func(path string) string { return path },
		refuse:  textReply,
	}
	m.node = n
	return n
}

// Name returns the name of the node, such as "alpha".
func (n *Node) Name() string { return n.name }

// ID returns the node ID.
func (n *Node) ID() string { return n.member.id }

func (n *Node) listens(now time.Time) bool {
	return !n.stopped && (n.started.IsZero() || !now.Before(n.started.Add(n.net.opts.Startup.Listen)))
}

func (n *Node) wakes(now time.Time) time.Time {
	if at := n.started.Add(n.net.opts.Startup.Listen); !n.stopped && !n.started.IsZero() && at.After(now) {
		return at
	}
	return time.Time{}
}

// reach updates whether the rest of the network can reach the node.
func (n *Node) reach(at time.Time) {
	if n.stopped || n.isolated || n.disconnected || n.hung {
		n.member.away.begin(at)
	} else {
		n.member.away.finish(at)
	}
}

// respond answers a request. The caller holds the lock.
func (n *Node) respond(now time.Time, q *query) reply {
	v := &view{truth: &n.net.truth, net: n.net, node: n, me: n.member, now: now}
	rep := v.route(q)
	rep.header["Node-Id"] = []string{n.member.id}
	return rep
}

// allowedHost reports whether the node accepts this Host header.
func allowedHost(hostport string) bool {
	host := hostport
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return host == "" || host == "localhost" || strings.HasSuffix(host, ".sim")
}

// route dispatches a path.
func (v *view) route(q *query) reply {
	if !allowedHost(q.Host) {
		return textReply(http.StatusForbidden, "invalid host specified")
	}
	path, ok := strings.CutPrefix(q.URL.Path, "/ext/")
	if !ok {
		return notFound()
	}
	if endpoint, ok := v.node.endpoints[path]; ok {
		path = endpoint
	}
	if v.node.disabled[path] {
		return notFound()
	}
	switch path {
	case "info":
		return v.rpc(q, infoService)
	case "admin":
		return v.rpc(q, adminService)
	case "health":
		return v.healthReply(q)
	}
	// Chains of the primary network are also served without "bc/".
	name, endpoint, slash := strings.Cut(strings.TrimPrefix(path, "bc/"), "/")
	c := v.net.chain(name)
	if alias, ok := v.node.aliases[name]; ok {
		c = alias
	}
	if c == nil || slash && endpoint == "" || name == c.name && name != "P" {
		return notFound() // a chain's name is not an alias, so a node does not accept it
	}
	return v.chainReply(q, c, endpoint)
}

func (v *view) chainReply(q *query, c *chain, endpoint string) reply {
	var answer func() reply
	switch {
	case c.name == "P" && endpoint == "":
		answer = func() reply { return v.rpc(q, platformService) }
	case c.vm == assetVM && endpoint == "":
		answer = func() reply { return v.rpc(q, avmService) }
	case c.evmID != 0 && endpoint == "rpc":
		answer = func() reply { return v.evmReply(q, c) }
	case c.isL1() && endpoint == "validators":
		answer = func() reply { return v.rpc(q, validatorsService(c)) }
	case c.vm != assetVM && endpoint == "proposervm":
		answer = func() reply { return v.rpc(q, proposerService(c)) }
	default:
		return notFound()
	}
	switch v.chainState(c) {
	case Running:
		if v.node.chains[c].state == Dead {
			return reply{header: http.Header{}, hangs: true}
		}
		return answer()
	case Bootstrapping:
		return textReply(http.StatusServiceUnavailable, "API call rejected because chain is not done bootstrapping")
	default:
		return notFound()
	}
}

func notFound() reply { return textReply(http.StatusNotFound, "404 page not found") }
