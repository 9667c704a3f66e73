// Package node is the typed client of a node's API: JSON-RPC under /ext.
//
// Each file holds one service. Each Go method makes one call; its types are in the same file. The name of a Go method follows
// the API: NodeID calls info.getNodeID. For services other than info, the name of the service is a prefix: PlatformHeight
// calls platform.getHeight, EthChainID calls eth_chainId. The table in methods.go declares all methods of the API, and Call calls
// any of them.
//
// Every Go method returns a *scrape.Error if there is no answer. Functions such as IsNotOffered recognize errors with a special
// meaning. Answers may be shared (scrape.MaxAge), so callers must not change them.
package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// PrimaryNetworkID is the subnet ID of the primary network.
const PrimaryNetworkID = "11111111111111111111111111111111LpoYY"

// Client is the client of one node.
type Client struct {
	*scrape.Upstream

	mu   sync.Mutex
	kept map[part]had
}

// had is in how many answers in succession a part was, and when the last of them was counted. Calls may share an answer.
type had struct {
	answers int
	at      time.Time
}

// part is a part of the answers of a method about a chain, or about the node.
type part struct{ op, chain, name string }

// New returns the client of the node behind u.
func New(u *scrape.Upstream) *Client { return &Client{Upstream: u, kept: map[part]had{}} }

const (
	keptAfter = 3                // answers with a part after which an answer must have it
	keptEach  = 20 * time.Second // least time between answers that count
)

// Lacking holds the fields that an answer lacks although the last answers of the node had them.
type Lacking struct {
	Op    string   `json:"-"` // the method; empty if no field is missing
	Parts []string `json:"-"`
}

// Incomplete returns an error if the answer lacks one of these parts that earlier answers of the node had. Without parts, any of them counts.
func (l Lacking) Incomplete(parts ...string) error {
	lost := slices.DeleteFunc(slices.Clone(l.Parts), func(part string) bool { return len(parts) > 0 && !slices.Contains(parts, part) })
	if len(lost) == 0 {
		return nil
	}
	return &scrape.Error{Op: l.Op, Outcome: scrape.Malformed, Err: fmt.Errorf("%s is missing: earlier answers of the node had it", strings.Join(lost, ", "))}
}

// compare returns the parts that an answer lacks although the last answers of the node had them. Old releases lack some parts, so an answer may lack
// what the node has never sent.
func (c *Client) compare(m *scrape.Method, chain string, has map[string]bool) Lacking {
	c.mu.Lock()
	defer c.mu.Unlock()
	var l Lacking
	for name, is := range has {
		key := part{m.Name, chain, name}
		switch before := c.kept[key]; {
		case is && time.Since(before.at) >= keptEach:
			c.kept[key] = had{before.answers + 1, time.Now()}
		case is:
		case before.answers >= keptAfter:
			l.Parts = append(l.Parts, name)
		default:
			delete(c.kept, key)
		}
	}
	if len(l.Parts) > 0 {
		l.Op = m.Name
		slices.Sort(l.Parts)
	}
	return l
}

// IsNotOffered reports whether the node or chain does not know the method, or a proxy in front of it blocks the method. Possible causes are the
// release of the node and the VM of the chain. A retry does not help.
func IsNotOffered(err error) bool { return scrape.OutcomeOf(err) == scrape.NotOffered }

// IsNotServed reports whether an endpoint, or a proxy in front of it, does not serve a call: the method or path is unknown or
// not allowed. A public endpoint offers only some of a node's methods. Other errors, such as status 400, concern only
// one request.
func IsNotServed(err error) bool {
	switch scrape.OutcomeOf(err) {
	case scrape.Forbidden, scrape.NotFound, scrape.NotOffered:
		return true
	}
	return false
}

// IsNoSuchChain reports whether an error of info.isBootstrapped or info.getBlockchainID means that the node does not run the
// chain. Possible causes: the name is wrong, the chain is not tracked or not created yet, or its VM failed.
func IsNoSuchChain(err error) bool {
	return refused(err, noChain) || refused(err, "there is no ID with alias")
}

// noChain is in the error of info.isBootstrapped about a chain that the node does not run.
const noChain = "there is no chain with alias/ID"

// refused reports whether the node's error message contains this text. The error code is not enough, because a node uses one
// code for almost every error.
func refused(err error, words string) bool {
	var refusal *scrape.RPCError
	return errors.As(err, &refusal) && strings.Contains(refusal.Message, words)
}
