package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// Method is a JSON-RPC method of a node.
type Method struct {
	Name         string   // as documented, such as info.getNodeID
	Path         string   // of its service; {chain} stands for the alias or blockchain ID of a chain
	Params       []string // names in order; an optional parameter ends in a question mark
	Positional   bool     // the parameters are a list, not an object
	Changes      string   // what the call does, as an infinitive; empty for a method that only reads
	Deprecated   string   // since which version, or the replacement; empty if the method is not deprecated
	Undocumented bool     // offered by nodes, but not documented
}

// Methods returns all methods of the client: every documented method and a few undocumented methods.
func Methods() []Method { return slices.Clone(methods) }

const (
	adminPath      = "/ext/admin"
	infoPath       = "/ext/info"
	platformPath   = "/ext/bc/P"
	avmPath        = "/ext/bc/{chain}"
	evmPath        = "/ext/bc/{chain}/rpc"
	validatorsPath = "/ext/bc/{chain}/validators"
)

var methods = []Method{
	{Name: "admin.alias", Path: adminPath, Params: []string{"endpoint", "alias"}, Changes: "give an endpoint of the node another name, until it stops"},
	{Name: "admin.aliasChain", Path: adminPath, Params: []string{"chain", "alias"}, Changes: "give a chain another name on the node, until it stops"},
	{Name: "admin.getChainAliases", Path: adminPath, Params: []string{"chain"}},
	{Name: "admin.getLoggerLevel", Path: adminPath, Params: []string{"loggerName?"}},
	{Name: "admin.loadVMs", Path: adminPath, Changes: "make the node load plugins that were installed since it started"},
	{Name: "admin.lockProfile", Path: adminPath, Changes: "write lock.profile on the node's disk"},
	{Name: "admin.memoryProfile", Path: adminPath, Changes: "write mem.profile on the node's disk"},
	{Name: "admin.setLoggerLevel", Path: adminPath, Params: []string{"loggerName?", "logLevel?", "displayLevel?"}, Changes: "set what the node logs, until it stops"},
	{Name: "admin.startCPUProfiler", Path: adminPath, Changes: "make the node profile its CPU until admin.stopCPUProfiler"},
	{Name: "admin.stopCPUProfiler", Path: adminPath, Changes: "end the profile of the CPU and write cpu.profile on the node's disk"},

	{Name: "info.acps", Path: infoPath},
	{Name: "info.getBlockchainID", Path: infoPath, Params: []string{"alias"}},
	{Name: "info.getNetworkID", Path: infoPath},
	{Name: "info.getNetworkName", Path: infoPath},
	{Name: "info.getNodeID", Path: infoPath},
	{Name: "info.getNodeIP", Path: infoPath},
	{Name: "info.getNodeVersion", Path: infoPath},
	{Name: "info.getTxFee", Path: infoPath, Deprecated: "since 1.12.2"},
	{Name: "info.getVMs", Path: infoPath},
	{Name: "info.isBootstrapped", Path: infoPath, Params: []string{"chain"}},
	{Name: "info.peers", Path: infoPath, Params: []string{"nodeIDs?"}},
	{Name: "info.upgrades", Path: infoPath},
	{Name: "info.uptime", Path: infoPath, Params: []string{"subnetID?"}},

	{Name: "avm.getAllBalances", Path: avmPath, Params: []string{"address"}, Deprecated: "since 1.9.12"},
	{Name: "avm.getAssetDescription", Path: avmPath, Params: []string{"assetID"}},
	{Name: "avm.getBalance", Path: avmPath, Params: []string{"address", "assetID"}, Deprecated: "since 1.9.12"},
	{Name: "avm.getBlock", Path: avmPath, Params: []string{"blockID", "encoding?"}},
	{Name: "avm.getBlockByHeight", Path: avmPath, Params: []string{"height", "encoding?"}},
	{Name: "avm.getHeight", Path: avmPath},
	{Name: "avm.getTx", Path: avmPath, Params: []string{"txID", "encoding?"}},
	{Name: "avm.getTxFee", Path: avmPath},
	{Name: "avm.getTxStatus", Path: avmPath, Params: []string{"txID"}, Deprecated: "since 1.10.0"},
	{Name: "avm.getUTXOs", Path: avmPath, Params: []string{"addresses", "limit?", "startIndex?", "sourceChain?", "encoding?"}},

	{Name: "platform.getBalance", Path: platformPath, Params: []string{"addresses"}, Deprecated: "since 1.9.12"},
	{Name: "platform.getBlock", Path: platformPath, Params: []string{"blockID", "encoding?"}},
	{Name: "platform.getBlockByHeight", Path: platformPath, Params: []string{"height", "encoding?"}},
	{Name: "platform.getBlockchains", Path: platformPath, Deprecated: "since 1.9.12"},
	{Name: "platform.getBlockchainStatus", Path: platformPath, Params: []string{"blockchainID"}},
	{Name: "platform.getCurrentSupply", Path: platformPath, Params: []string{"subnetID?"}},
	{Name: "platform.getCurrentValidators", Path: platformPath, Params: []string{"subnetID?", "nodeIDs?"}},
	{Name: "platform.getFeeState", Path: platformPath, Undocumented: true},
	{Name: "platform.getHeight", Path: platformPath, Undocumented: true},
	{Name: "platform.getTimestamp", Path: platformPath, Undocumented: true},
	{Name: "platform.getValidatorFeeState", Path: platformPath, Undocumented: true},

	{Name: "eth_baseFee", Path: evmPath, Positional: true, Undocumented: true},
	{Name: "eth_blockNumber", Path: evmPath, Positional: true, Undocumented: true},
	{Name: "eth_chainId", Path: evmPath, Positional: true, Undocumented: true},
	{Name: "eth_feeConfig", Path: evmPath, Positional: true, Params: []string{"blk?"}},
	{Name: "eth_getActivePrecompilesAt", Path: evmPath, Positional: true, Params: []string{"timestamp?"}, Deprecated: "use eth_getActiveRulesAt"},
	{Name: "eth_getActiveRulesAt", Path: evmPath, Positional: true, Params: []string{"timestamp?"}},
	{Name: "eth_getBlockByHash", Path: evmPath, Positional: true, Params: []string{"hash", "full"}, Undocumented: true},
	{Name: "eth_getBlockByNumber", Path: evmPath, Positional: true, Params: []string{"number", "full"}, Undocumented: true},
	{Name: "eth_getChainConfig", Path: evmPath, Positional: true},

	{Name: "validators.getCurrentValidators", Path: validatorsPath, Params: []string{"nodeIDs?"}},
}

// OfChain reports whether the method needs a chain.
func (m Method) OfChain() bool { return strings.Contains(m.Path, "{chain}") }

// Usage returns the method with its parameters, such as avm.getTx {"txID":…, "encoding"?:…}. A question mark follows the name
// of an optional parameter.
func (m Method) Usage() string {
	var params []string
	for _, p := range m.Params {
		if name, optional := strings.CutSuffix(p, "?"); !m.Positional && optional {
			p = `"` + name + `"?:…`
		} else if !m.Positional {
			p = `"` + name + `":…`
		}
		params = append(params, p)
	}
	switch {
	case params == nil:
		return m.Name
	case m.Positional:
		return m.Name + " [" + strings.Join(params, ", ") + "]"
	}
	return m.Name + " {" + strings.Join(params, ", ") + "}"
}

// Check returns an error if params are invalid for the method. If params is nil, the call has no parameters. The check is
// needed because a node ignores unknown parameters. Without the check, the answer would look correct after a typing error.
func (m Method) Check(params jsontext.Value) error {
	var given []string
	switch {
	case params == nil:
	case m.Positional:
		var list []jsontext.Value
		if json.Unmarshal(params, &list) != nil || params.Kind() != jsontext.KindBeginArray {
			return fmt.Errorf("the parameters are not a list: write %s", m.Usage())
		}
		if len(list) > len(m.Params) {
			return fmt.Errorf("%d parameters are too many: write %s", len(list), m.Usage())
		}
		for i := range list {
			given = append(given, strings.TrimSuffix(m.Params[i], "?"))
		}
	default:
		var object map[string]jsontext.Value
		if json.Unmarshal(params, &object) != nil || params.Kind() != jsontext.KindBeginObject {
			return fmt.Errorf("the parameters are not an object: write %s", m.Usage())
		}
		for name := range object {
			if !slices.Contains(m.Params, name) && !slices.Contains(m.Params, name+"?") {
				return fmt.Errorf("there is no parameter %q: write %s", name, m.Usage())
			}
			given = append(given, name)
		}
	}
	for _, p := range m.Params {
		if !strings.HasSuffix(p, "?") && !slices.Contains(given, p) {
			return fmt.Errorf("the parameter %q is missing: write %s", p, m.Usage())
		}
	}
	return nil
}

// Call calls a method and returns the result as JSON, unchanged. Params are JSON; nil sends none. Chain is an alias or
// blockchain ID, for methods that need a chain. If the typed client cannot decode the result, the error has the outcome
// malformed. A call that changes something is sent at most once.
func (c *Client) Call(ctx context.Context, m Method, chain string, params jsontext.Value) (jsontext.Value, error) {
	var sentParams any // nil: no parameters
	switch {
	case params != nil:
		sentParams = params
	case m.Positional:
		sentParams = []any{}
	}
	send := scrape.RPC[jsontext.Value]
	if m.Changes != "" {
		send = scrape.RPCOnce[jsontext.Value]
	}
	result, err := send(ctx, c.u, at(m.Path, chain), m.Name, sentParams)
	if err == nil {
		err = m.check(ctx, result)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}
