// Package remedy maps errors to remedies for the operator. The status page, the command check and the log all use this table.
package remedy

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Remedy describes the outcome of a call and what to do about it.
type Remedy struct {
	What string
	Do   string
	// service replaces Do if the upstream is a service instead of a node.
	service string
	// ByText means that two errors count as the same problem only if their texts are equal.
	ByText bool
}

var remedies = map[scrape.Outcome]Remedy{
	scrape.Unreachable: {
		What: "No connection",
		Do: "Check that the process is up and that its address in AVAX_NODES is correct. Then check DNS, firewalls and the node's --http-host: by default it " +
			"listens only on its own host.",
		service: "Check its address in the configuration, and DNS, firewall and proxy of the exporter's host. Check whether the service is down for others too.",
	},
	scrape.Timeout: {
		What: "No answer in time",
		Do: "The node hangs or is overloaded, or a firewall drops packets. Check the node's CPU, disk and log. If the node is only slow, raise AVAX_TIMEOUT, " +
			"or give the collector a longer period in AVAX_SCHEDULES.",
		service: "The service is slow, or a firewall drops packets. If it stays slow, raise AVAX_TIMEOUT.",
	},
	scrape.Forbidden: {
		What: "Not allowed",
		Do: "A node rejects unknown host names: use its IP address in AVAX_NODES, set host in AVAX_HTTP_CONFIG_FILE to an allowed name, or start it with " +
			"--http-allowed-hosts. A proxy may require credentials: set them in the URL or in AVAX_HTTP_CONFIG_FILE.",
		service: "Put a valid key into AVAX_DATA_API_KEY_FILE. Check AVAX_DATA_URL: old keys work only on glacier-api.avax.network, with the header " +
			"x-glacier-api-key (AVAX_HTTP_CONFIG_FILE).",
	},
	scrape.Rejected: {
		What:   "The call was rejected",
		Do:     "The error above has the reason. Search the node's log for it. If the error is in the call, report it.",
		ByText: true,
	},
	scrape.NotOffered: {
		What: "The method is not offered",
		Do: "Alerts that need this data cannot fire. Allow the method in the proxy or gateway. If the node itself has no such method, upgrade the exporter, or " +
			"keep one node on a release that has it.",
		service: "Alerts that need this data cannot fire. Upgrade the exporter, or use a service that offers the method.",
		ByText:  true,
	},
	scrape.RateLimited: {
		What: "Too many requests",
		Do: "The exporter pauses as requested. If it persists, raise the rate limit or the quota of the proxy or gateway, or give the collectors longer periods " +
			"in AVAX_SCHEDULES.",
		service: "The exporter pauses as requested. If it persists, give the collector a longer period in AVAX_SCHEDULES.",
	},
	scrape.Unavailable: {
		What:    "Temporarily unavailable",
		Do:      "The node is down behind a proxy, or the node has a problem. Check the log of the node, then the log of the proxy.",
		service: "The service has a problem. Wait: the exporter retries.",
	},
	scrape.Bootstrapping: {
		What: "The chain is still bootstrapping",
		Do:   "Wait until the chain is bootstrapped. The runbook shows how to check the progress.",
	},
	scrape.NotFound: {
		What:    "Unknown chain or API",
		Do:      "Correct the chain in AVAX_CHAINS, start the node with --track-subnets for the subnet of the chain, or enable the API.",
		service: "Check the address of the service, and whether the service supports this network and chain.",
		ByText:  true,
	},
	scrape.Malformed: {
		What: "Unexpected answer",
		Do: "Check that this is the address of a node's API, by default on port 9650. A proxy or login page may answer instead. If this answer comes from " +
			"the node itself, report it: the release of the node is not supported yet.",
		service: "Check that this is the address of the service. A proxy or login page may answer instead.",
		ByText:  true,
	},
	scrape.LocalLimit: {
		What: "The exporter's host lacks file descriptors, ports, memory or CPU",
		Do:   "Raise the limit of open files of the exporter (LimitNOFILE), and look for clients that hold many connections to it. This says nothing about the node.",
	},
	scrape.TooLarge: {
		What: "The answer is too large",
		Do:   "The error names the limit. Check the address: a proxy may answer. If a node or service sends such answers, report it.",
	},
}

// noNode is the remedy if the address does not offer the info API, which every node has.
var noNode = Remedy{
	What: "No node's API at this address",
	Do: "Set the node's address in AVAX_NODES without a path and with the node's port, such as http://host:9650. " +
		"If the address is that of a node, its info API is disabled (--api-info-enabled).",
}

// mistake is the remedy for errors that an upstream does not cause.
var mistake = Remedy{
	What:   "The collector itself failed",
	Do:     "The log has details. If it persists, report it with the text above.",
	ByText: true,
}

// tooMany is the remedy for a run that finds more series of a family than its limit.
var tooMany = Remedy{
	What:   "More series than the limit of a family",
	Do:     "Check that the URL leads to a node or service of the right kind. The families above are not served. All other families are.",
	ByText: true,
}

// Of returns the remedy for an error of a collector.
func Of(err error) Remedy {
	outcome := scrape.OutcomeOf(err)
	r := remedies[outcome]
	var call *scrape.Error
	known := errors.As(err, &call)
	var setting *nodes.SettingError
	switch {
	case errors.As(err, &setting):
		return Remedy{What: r.What, Do: "Correct " + setting.Variable + ".", ByText: true}
	case scrape.AdviceOf(err) != "":
		return Remedy{What: r.What, Do: scrape.AdviceOf(err), ByText: r.ByText}
	case known && outcome == scrape.Forbidden && isOfMetrics(call.Op):
		r.Do = "The Metrics service needs no key. Check AVAX_METRICS_URL, and what AVAX_HTTP_CONFIG_FILE sends to the service."
	case known && outcome == scrape.NotOffered && strings.HasPrefix(call.Op, "eth_"):
		r.Do = "Alerts that need this data cannot fire. If config.json of the chain sets eth-apis, add internal-blockchain and internal-eth there, and restart the " +
			"node. If a proxy or gateway rejects the method, allow it there."
	case known && strings.HasPrefix(call.Op, "GET /v") && r.service != "": // node paths begin with /ext
		r.Do = r.service
	case outcome == scrape.Unreachable && strings.Contains(err.Error(), "first record does not look like a TLS handshake"),
		outcome == scrape.Unreachable && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		r = Remedy{What: "No TLS at this address", Do: "Write http:// instead of https:// in the address."}
	case strings.Contains(err.Error(), "the server speaks TLS: "):
		r = Remedy{What: "TLS at this address", Do: "Write https:// instead of http:// in the address. The API of a node is on port 9650, not 9651."}
	case known && (outcome == scrape.Unreachable || outcome == scrape.Timeout) && portOf(err) == "9651":
		r.Do = "Nodes talk to each other on port 9651. The API of a node is on port 9650: write the address as http://HOST:9650."
	case known && outcome == scrape.Unreachable && defaultPort(err) != "":
		r.Do = fmt.Sprintf("The address has no port, so the exporter calls port %s. A node listens on 9650: write the address as http://HOST:9650. "+
			"If a proxy serves the node, check the proxy.", defaultPort(err))
	case known && outcome == scrape.NotFound && strings.HasPrefix(call.Op, "info."):
		r = noNode
	case errors.Is(err, metric.ErrTooMany):
		r = tooMany
	case !known && outcome == scrape.Malformed: // no setting is wrong
		r = mistake
	}
	return r
}

// defaultPort returns the port of a failed connection, if it is the default of a scheme.
func defaultPort(err error) string {
	if port := portOf(err); port == "80" || port == "443" {
		return port
	}
	return ""
}

// portOf returns the port of the connection that failed; empty if it is not known.
func portOf(err error) string {
	failed, ok := errors.AsType[*net.OpError](err)
	if !ok || failed.Addr == nil {
		return ""
	}
	_, port, _ := net.SplitHostPort(failed.Addr.String())
	return port
}

// isOfMetrics reports whether an operation is one of the Metrics service.
func isOfMetrics(op string) bool {
	return strings.HasPrefix(op, "GET /v2/") || strings.HasPrefix(op, "GET /v1/avg_tps/")
}
