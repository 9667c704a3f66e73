// Package remedy maps errors to remedies for the operator. It is the only table of remedies: the status page, check and the log
// share it. Errors themselves contain no environment variable.
package remedy

import (
	"errors"
	"strings"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Remedy describes the outcome of a call and what to do about it.
type Remedy struct {
	What string
	Do   string
	// service replaces Do if the upstream is a service instead of a node.
	service string
	// ByText says that two errors are the same problem only if their texts are equal.
	ByText bool
}

var remedies = map[scrape.Outcome]Remedy{
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
		What:    "Not allowed",
		Do:      "A node refuses host names that it does not know: write its IP address into AVAX_NODES, set AVAX_NODE_HOST to a name that it allows, or start it with --http-allowed-hosts. A proxy before it wants credentials: in the URL, or in AVAX_NODE_HEADERS_FILE.",
		service: "Put a key that the service accepts into AVAX_DATA_API_KEY_FILE, and check AVAX_DATA_API_KEY_HEADER and AVAX_DATA_URL: old keys work on glacier-api.avax.network alone.",
	},
	scrape.Rejected: {
		What:   "The question was refused",
		Do:     "The reason is given above in the node's own words. If this release does not offer the method, turn the collector off with AVAX_COLLECTORS=-name.",
		ByText: true,
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
		ByText:  true,
	},
	scrape.Malformed: {
		What:    "Not the answer that was asked for",
		Do:      "Is this the address of a node's API, by default on port 9650? A proxy or a login page may stand between. If the node itself says this, please report it: its release answers otherwise than is known.",
		service: "Is this the address of the service? A proxy or a login page may stand between.",
		ByText:  true,
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

// noNode is the remedy if even the API that identifies a node is missing.
var noNode = Remedy{
	What: "No node's API is at this address",
	Do: "Write the node's address into AVAX_NODES without a path, such as http://host:9650, and with the node's own port. " +
		"If it is a node, its info API is off (--api-info-enabled).",
}

// mistake is the remedy for errors that no upstream causes.
var mistake = Remedy{
	What:   "The collector itself failed",
	Do:     "The log has more. If it lasts, please report it with the text above.",
	ByText: true,
}

// tooMany is the remedy for a collector that exceeds its series limit.
var tooMany = Remedy{
	What: "More series than the collector may serve",
	Do: "Watch less (AVAX_VALIDATORS), leave out what you do not need (AVAX_METRICS_DENY), or raise AVAX_SERIES_LIMIT. " +
		"The families named above are not served, the others are.",
	ByText: true,
}

// variables are the environment variables for settings that may be wrong.
var variables = map[collectors.Setting]string{
	collectors.SettingChains:         "AVAX_CHAINS",
	collectors.SettingAddresses:      "AVAX_WATCH_ADDRESSES",
	collectors.SettingAssets:         "AVAX_WATCH_ASSETS",
	collectors.SettingSignatures:     "AVAX_WATCH_SIGNATURES",
	collectors.SettingNodes:          "AVAX_NODES",
	collectors.SettingServiceNetwork: "AVAX_NETWORK",
}

// Of returns the remedy for an error of a collector.
func Of(err error) Remedy {
	outcome := scrape.OutcomeOf(err)
	r := remedies[outcome]
	var call *scrape.Error
	known := errors.As(err, &call)
	var setting *collectors.SettingError
	switch {
	case errors.As(err, &setting):
		return Remedy{What: r.What, Do: "Correct " + variables[setting.Setting] + ".", ByText: true}
	case known && strings.HasPrefix(call.Op, "GET /v1/") && r.service != "": // node paths begin with /ext
		r.Do = r.service
	case known && outcome == scrape.NotFound && strings.HasPrefix(call.Op, "info."):
		r = noNode
	case errors.Is(err, metric.ErrTooMany):
		r = tooMany
	case !known && outcome == scrape.Malformed: // no setting is to blame
		r = mistake
	}
	return r
}
