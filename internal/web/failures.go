package web

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// remedy says in plain words how a call ended, and what to do about it.
type remedy struct {
	What string
	Do   string
	// service replaces Do where the upstream is a service and no node.
	service string
	// byText tells that two errors are one problem only if they read the same.
	byText bool
}

var remedies = map[scrape.Outcome]remedy{
	scrape.Unreachable: {
		What:    "No connection",
		Do:      "Is the process up, and is its address in AVAX_NODES right? If it is up, look at DNS, at the firewall between, and at the node's --http-host: by default it listens on its own host alone.",
		service: "Is its address in the configuration right? Look at DNS, firewall and proxy of the exporter's host, and whether the service is down for others too.",
	},
	scrape.Timeout: {
		What:    "No answer in time",
		Do:      "It hangs or is overloaded, or a firewall drops packets: look at the node's CPU, disk and log. If it is merely slow, raise AVAX_TIMEOUT, or give the collector a longer period in AVAX_SCHEDULES.",
		service: "It is slow, or a firewall drops packets. If it stays slow, raise AVAX_TIMEOUT.",
	},
	scrape.Forbidden: {
		What:    "The exporter is not let in",
		Do:      "A node refuses host names that it does not know: write its IP address into AVAX_NODES, set AVAX_NODE_HOST to a name that it allows, or start it with --http-allowed-hosts. A proxy before it wants credentials: in the URL, or in AVAX_NODE_HEADERS_FILE.",
		service: "It wants a key, or another one; or the request goes to the wrong address.",
	},
	scrape.Rejected: {
		What:   "The question was refused",
		Do:     "The reason stands above in its own words. If this release does not offer the method, turn the collector off with AVAX_COLLECTORS=-name.",
		byText: true,
	},
	scrape.RateLimited: {
		What:    "Asked too often",
		Do:      "The exporter waits as long as it was told to. If it lasts, raise the limit of the proxy before the node, or give the collectors longer periods in AVAX_SCHEDULES.",
		service: "The exporter waits as long as it was told to. If it lasts, give the collector a longer period in AVAX_SCHEDULES.",
	},
	scrape.Unavailable: {
		What:    "It says that it cannot answer now",
		Do:      "A proxy answers for a node that is down, or the node itself is in trouble: look at the node's log, then at the proxy's.",
		service: "The service is in trouble. Wait: the exporter goes on asking.",
	},
	scrape.Bootstrapping: {
		What: "The chain is still bootstrapping",
		Do:   "Wait: it answers once that is done. The runbook tells how to see whether it moves.",
	},
	scrape.NotFound: {
		What:    "There is no such chain or API there",
		Do:      "Correct the chain in AVAX_CHAINS, let the node track its subnet with --track-subnets, or turn the API on.",
		service: "Is its address right, and does it cover this network and chain?",
		byText:  true,
	},
	scrape.Malformed: {
		What:    "Not the answer that was asked for",
		Do:      "Is this the address of a node's API, by default on port 9650? A proxy or a login page may stand between. If the node itself says this, please report it: its release answers otherwise than is known.",
		service: "Is this the address of the service? A proxy or a login page may stand between.",
		byText:  true,
	},
	scrape.LocalLimit: {
		What: "The exporter's host lacks descriptors, ports or buffers",
		Do:   "Raise the limit of open files of the exporter (LimitNOFILE), and look for clients that hold many connections to it. This says nothing about the node.",
	},
	scrape.TooLarge: {
		What: "The answer is too large",
		Do:   "Raise AVAX_MAX_BODY.",
	},
}

// noNode is the remedy where not even the API is found that tells who a node is.
var noNode = remedy{
	What: "No node's API is at this address",
	Do: "Write the node's address into AVAX_NODES without a path, such as http://host:9650, and with the node's own port. " +
		"If it is a node, its info API is off (--api-info-enabled).",
}

// mistake is the remedy where no upstream is to blame.
var mistake = remedy{
	What:   "The collector itself failed",
	Do:     "The log has more. If it lasts, please report it with the text above.",
	byText: true,
}

// tooMany is the remedy where a collector has found more than it may serve.
var tooMany = remedy{
	What:   "More series than the collector may serve",
	Do:     "The rest is served, the families named above are not. Do what stands above.",
	byText: true,
}

// failure is one cause with everything that it stops: a dead node fails all of
// its collectors, and that is one thing to mend.
type failure struct {
	Node       string // that was asked; empty where any node, or a service, was
	Anchor     string
	What, Do   string
	Alert      string // whose runbook goes on from there
	Text       string // the error of one of the jobs
	Targets    []string
	Collectors []string
	LastGood   cell // of the job that worked last
	// Follows names the trouble it comes from, where the page tells of that elsewhere.
	Follows string

	jobs int
	good time.Time
}

// Label says briefly what fails about whom.
func (f *failure) Label() string { return brief(f.Collectors) + " of " + brief(f.Targets) }

// Remedy says what to do about an error of a collector.
func Remedy(err error) string {
	f, _ := failureOf(err)
	return f.Do
}

// failureOf reads an error. cause is the same for errors that are one problem.
func failureOf(err error) (f *failure, cause string) {
	outcome := scrape.OutcomeOf(err)
	r := remedies[outcome]
	var call *scrape.Error
	known := errors.As(err, &call)
	f = &failure{Text: err.Error()}
	switch {
	case known && strings.HasPrefix(call.Op, "GET /v1/") && r.service != "": // a node is asked under /ext
		r.Do = r.service
	case known && outcome == scrape.NotFound && strings.HasPrefix(call.Op, "info."):
		r = noNode
	case errors.Is(err, metric.ErrTooMany):
		r = tooMany
	case !known && outcome == scrape.Malformed: // nobody can name it
		r = mistake
	}
	f.What, f.Do = r.What, r.Do
	switch outcome {
	case scrape.Forbidden:
		f.Alert = "AvaxUpstreamForbidden"
	case scrape.Bootstrapping:
		f.Alert = "AvaxChainNotBootstrapped"
	default:
		f.Alert = "AvaxCollectorFailing"
	}
	cause = r.What + r.Do
	if r.byText && known && call.Err != nil {
		cause += call.Err.Error()
	} else if r.byText {
		cause += f.Text
	}
	return f, cause
}

// failures puts together what has one cause, what follows from something else
// last. follows names what the failure of a node's or a chain's job comes from.
func failures(jobs []snapshot.Job, now time.Time, isNode func(string) bool, follows func(node, chain string) string) []*failure {
	type key struct{ node, cause, follows string }
	byCause := map[key]*failure{}
	var own, following []*failure
	for _, j := range jobs {
		if j.Last.Err == nil {
			continue
		}
		node, chain := j.Last.Target.Node, j.Last.Target.Chain
		if !isNode(node) {
			node = ""
		}
		one, cause := failureOf(j.Last.Err)
		one.Node, one.Follows = node, follows(node, chain)
		k := key{node, cause, one.Follows}
		f := byCause[k]
		if f == nil {
			f = one
			f.LastGood = absent("no good answer since the exporter started")
			byCause[k] = f
			if f.Follows == "" {
				own = append(own, f)
			} else {
				following = append(following, f)
			}
		}
		f.jobs++
		f.Targets = appendNew(f.Targets, j.Last.Target.String())
		f.Collectors = appendNew(f.Collectors, j.Last.Collector)
		if j.Good.At.After(f.good) {
			f.good = j.Good.At
			f.LastGood = since(now, f.good)
		}
	}
	return append(own, following...)
}

func appendNew(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}
