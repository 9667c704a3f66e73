// Package node is the typed client of a node's own interface: JSON-RPC under /ext.
//
// One file holds one service, one method one call, its types beside it. A method is named as the interface names it:
// info.getNodeID is NodeID, and outside info the service stands in front: platform.getHeight is PlatformHeight,
// eth_blockNumber is EthBlockNumber. Methods lists them, and Call asks any of them by that name.
//
// Every method returns a *scrape.Error where it has no answer; see the predicates below for the refusals that mean
// something. Answers may be shared under scrape.MaxAge and must not be changed.
package node

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// PrimaryNetworkID is the subnet ID of the primary network.
const PrimaryNetworkID = "11111111111111111111111111111111LpoYY"

// Client asks one node.
type Client struct{ u *scrape.Upstream }

// New asks the node behind u.
func New(u *scrape.Upstream) *Client { return &Client{u} }

// Name is the configured name of the node.
func (c *Client) Name() string { return c.u.Name() }

// Healthy tells whether the node itself answered the last finished call.
func (c *Client) Healthy() bool { return c.u.Healthy() }

// Answered returns when the node last answered; zero where it never did.
func (c *Client) Answered() time.Time { return c.u.Answered() }

// Offers returns what is known of what the endpoint offers: see scrape.Options.Withholds.
func (c *Client) Offers() []scrape.Offer { return c.u.Offers() }

// at is a service's path with {chain} filled in; chain is an alias such as C or a blockchain ID.
func at(path, chain string) string {
	return strings.ReplaceAll(path, "{chain}", url.PathEscape(chain))
}

// IsNotOffered tells whether the node or chain does not know the method: an older or newer release, or a chain of
// another kind. Asking again does not help.
func IsNotOffered(err error) bool {
	var refusal *scrape.RPCError
	return errors.As(err, &refusal) && refusal.Code == scrape.CodeMethodNotFound ||
		refused(err, "rpc: can't find method") || refused(err, "rpc: can't find service")
}

// IsWithheld tells whether an endpoint, or what stands before it, does not offer what it was asked: it does not know the
// method or the path, or does not allow it. A public endpoint offers a part of a node's methods. Other statuses, such as
// 400, are about one request.
func IsWithheld(err error) bool {
	switch scrape.OutcomeOf(err) {
	case scrape.Forbidden, scrape.NotFound:
		return true
	case scrape.Rejected:
		var status *scrape.StatusError
		var refusal *scrape.RPCError
		return IsNotOffered(err) ||
			errors.As(err, &status) && status.Status == http.StatusMethodNotAllowed ||
			errors.As(err, &refusal) && refusal.Code == codeMethodNotSupported
	}
	return false
}

// codeMethodNotSupported is the code of a provider that leaves a method out (EIP-1474).
const codeMethodNotSupported = -32004

// IsNoSuchChain tells whether the node does not run the chain it was asked about by info.isBootstrapped or
// info.getBlockchainID: the name is wrong, the chain is not tracked, not created yet, or its VM failed.
func IsNoSuchChain(err error) bool {
	return refused(err, "there is no chain with alias/ID") || refused(err, "there is no ID with alias")
}

// refused tells whether the node itself refused in these words. It has one error code for almost everything.
func refused(err error, words string) bool {
	var refusal *scrape.RPCError
	return errors.As(err, &refusal) && strings.Contains(refusal.Message, words)
}
