package node

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Methods returns all methods of the client: every documented method and a few undocumented methods.
func Methods() []*scrape.Method { return slices.Clone(methods) }

var methods []*scrape.Method

// declare adds a JSON-RPC method of a node to the table. T is the type of its result.
func declare[T any](m scrape.Method) scrape.Typed[T] { return scrape.Declare[T](&methods, m) }

const (
	adminPath      = "/ext/admin"
	infoPath       = "/ext/info"
	platformPath   = "/ext/bc/P"
	avmPath        = "/ext/bc/{chain}"
	evmPath        = "/ext/bc/{chain}/rpc"
	validatorsPath = "/ext/bc/{chain}/validators"
	proposerPath   = "/ext/bc/{chain}/proposervm"
)

// largeList is the maximum size in bytes of the few answers that grow with the network. They are decoded item by item. The 1,500
// validators of a public network take 1.4 MiB.
const largeList = 16 << 20

// The table of methods. A method without a variable is used only by the command call.
var (
	_ = declare[struct{}](scrape.Method{Name: "admin.alias", Path: adminPath, Params: []string{"endpoint", "alias"},
		Changes: "give an endpoint of the node another name, until it stops"})
	_ = declare[struct{}](scrape.Method{Name: "admin.aliasChain", Path: adminPath, Params: []string{"chain", "alias"},
		Changes: "give a chain another name on the node, until it stops"})
	getChainAliases = declare[[]string](scrape.Method{Name: "admin.getChainAliases", Member: "aliases", Path: adminPath, Params: []string{"chain"}})
	getLoggerLevel  = declare[map[string]LoggerLevel](scrape.Method{Name: "admin.getLoggerLevel", Member: "loggerLevels", Path: adminPath,
		Params: []string{"loggerName?"}})
	_ = declare[struct{}](scrape.Method{Name: "admin.loadVMs", Path: adminPath,
		Changes: "make the node load plugins that were installed since it started"})
	_ = declare[struct{}](scrape.Method{Name: "admin.lockProfile", Path: adminPath, Changes: "write lock.profile on the node's disk"})
	_ = declare[struct{}](scrape.Method{Name: "admin.memoryProfile", Path: adminPath, Changes: "write mem.profile on the node's disk"})
	_ = declare[struct{}](scrape.Method{Name: "admin.setLoggerLevel", Path: adminPath,
		Params: []string{"loggerName?", "logLevel?", "displayLevel?"}, Changes: "set what the node logs, until it stops"})
	_ = declare[struct{}](scrape.Method{Name: "admin.startCPUProfiler", Path: adminPath,
		Changes: "make the node profile its CPU until admin.stopCPUProfiler"})
	_ = declare[struct{}](scrape.Method{Name: "admin.stopCPUProfiler", Path: adminPath,
		Changes: "end the profile of the CPU and write cpu.profile on the node's disk"})

	getACPs         = declare[map[uint32]ACP](scrape.Method{Name: "info.acps", Member: "acps", Path: infoPath})
	getBlockchainID = declare[string](scrape.Method{Name: "info.getBlockchainID", Member: "blockchainID", Path: infoPath, Params: []string{"alias"}})
	getNetworkID    = declare[wire.Uint64](scrape.Method{Name: "info.getNetworkID", Member: "networkID", Path: infoPath})
	getNetworkName  = declare[string](scrape.Method{Name: "info.getNetworkName", Member: "networkName", Path: infoPath})
	getNodeID       = declare[Identity](scrape.Method{Name: "info.getNodeID", Path: infoPath})
	getNodeIP       = declare[string](scrape.Method{Name: "info.getNodeIP", Member: "ip", Path: infoPath})
	getNodeVersion  = declare[Version](scrape.Method{Name: "info.getNodeVersion", Path: infoPath})
	_               = declare[TxFee](scrape.Method{Name: "info.getTxFee", Path: infoPath, Deprecated: "since 1.12.2"})
	_               = declare[map[string][]string](scrape.Method{Name: "info.getVMs", Member: "vms", Path: infoPath})
	isBootstrapped  = declare[bool](scrape.Method{Name: "info.isBootstrapped", Member: "isBootstrapped", Path: infoPath, Params: []string{"chain"},
		State: noChain})
	getPeers    = declare[Peers](scrape.Method{Name: "info.peers", Path: infoPath, Params: []string{"nodeIDs?"}, MaxBody: largeList})
	getUpgrades = declare[Upgrades](scrape.Method{Name: "info.upgrades", Path: infoPath})
	getUptime   = declare[Uptime](scrape.Method{Name: "info.uptime", Path: infoPath, Params: []string{"subnetID?"}})

	_                   = declare[avmBalances](scrape.Method{Name: "avm.getAllBalances", Path: avmPath, Params: []string{"address"}, Deprecated: "since 1.9.12"})
	getAssetDescription = declare[Asset](scrape.Method{Name: "avm.getAssetDescription", Path: avmPath, Params: []string{"assetID"}})
	getAVMBalance       = declare[AVMBalance](scrape.Method{Name: "avm.getBalance", Path: avmPath, Params: []string{"address", "assetID"},
		Deprecated: "since 1.9.12"})
	_                = declare[encoded](scrape.Method{Name: "avm.getBlock", Path: avmPath, Params: []string{"blockID", "encoding?"}})
	getBlockByHeight = declare[encoded](scrape.Method{Name: "avm.getBlockByHeight", Path: avmPath, Params: []string{"height", "encoding?"}})
	getAVMHeight     = declare[wire.Height](scrape.Method{Name: "avm.getHeight", Member: "height", Path: avmPath})
	_                = declare[encoded](scrape.Method{Name: "avm.getTx", Path: avmPath, Params: []string{"txID", "encoding?"}})
	getAVMTxFee      = declare[TxFee](scrape.Method{Name: "avm.getTxFee", Path: avmPath, Lacking: "old releases"})
	_                = declare[string](scrape.Method{Name: "avm.getTxStatus", Member: "status", Path: avmPath, Params: []string{"txID"},
		Deprecated: "since 1.10.0"})
	getUTXOs = declare[utxoPage](scrape.Method{Name: "avm.getUTXOs", Path: avmPath,
		Params: []string{"addresses", "limit?", "startIndex?", "sourceChain?", "encoding?"}})

	getPlatformBalance = declare[PlatformBalance](scrape.Method{Name: "platform.getBalance", Path: platformPath, Params: []string{"addresses"},
		Deprecated: "since 1.9.12", MaxBody: largeList})
	_              = declare[encoded](scrape.Method{Name: "platform.getBlock", Path: platformPath, Params: []string{"blockID", "encoding?"}})
	_              = declare[encoded](scrape.Method{Name: "platform.getBlockByHeight", Path: platformPath, Params: []string{"height", "encoding?"}})
	getBlockchains = declare[distinct[Blockchain]](scrape.Method{Name: "platform.getBlockchains", Member: "blockchains", Path: platformPath,
		Deprecated: "since 1.9.12", MaxBody: largeList})
	getStakingAssetID = declare[string](scrape.Method{Name: "platform.getStakingAssetID", Member: "assetID", Path: platformPath, Params: []string{"subnetID?"}})
	getPlatformTx     = declare[createChainTx](scrape.Method{Name: "platform.getTx", Path: platformPath, Params: []string{"txID", "encoding?"},
		MaxBody: largeList})
	getPlatformUTXOs = declare[utxoPage](scrape.Method{Name: "platform.getUTXOs", Path: platformPath,
		Params: []string{"addresses", "limit?", "startIndex?", "sourceChain?", "encoding?"}})
	getBlockchainStatus = declare[string](scrape.Method{Name: "platform.getBlockchainStatus", Member: "status", Path: platformPath,
		Params: []string{"blockchainID"}})
	getCurrentSupply     = declare[Supply](scrape.Method{Name: "platform.getCurrentSupply", Path: platformPath, Params: []string{"subnetID?"}})
	getCurrentValidators = declare[distinct[Validator]](scrape.Method{Name: "platform.getCurrentValidators", Member: "validators", Path: platformPath,
		Params: []string{"subnetID?", "nodeIDs?"}, MaxBody: largeList})
	getFeeState       = declare[FeeState](scrape.Method{Name: "platform.getFeeState", Path: platformPath, Lacking: "old releases"})
	getPlatformHeight = declare[wire.Height](scrape.Method{Name: "platform.getHeight", Member: "height", Path: platformPath})
	getRewardUTXOs    = declare[[]RewardUTXO](scrape.Method{Name: "platform.getRewardUTXOs", Member: "utxos", Path: platformPath,
		Params: []string{"txID", "encoding?"}})
	getSubnet       = declare[Subnet](scrape.Method{Name: "platform.getSubnet", Path: platformPath, Params: []string{"subnetID"}})
	getTimestamp    = declare[wire.PastTime](scrape.Method{Name: "platform.getTimestamp", Member: "timestamp", Path: platformPath})
	getValidatorsAt = declare[map[string]validatorAt](scrape.Method{Name: "platform.getValidatorsAt", Path: platformPath,
		Params: []string{"height", "subnetID?"}, MaxBody: largeList})
	getValidatorFeeState = declare[ValidatorFeeState](scrape.Method{Name: "platform.getValidatorFeeState", Path: platformPath, Lacking: "old releases"})

	_            = declare[wire.BigInt](scrape.Method{Name: "eth_baseFee", Path: evmPath, Positional: true})
	_            = declare[wire.Height](scrape.Method{Name: "eth_blockNumber", Path: evmPath, Positional: true})
	getChainID   = declare[wire.HexUint64](scrape.Method{Name: "eth_chainId", Path: evmPath, Positional: true})
	getFeeConfig = declare[FeeConfig](scrape.Method{Name: "eth_feeConfig", Path: evmPath, Positional: true, Params: []string{"blk?"}, Lacking: "the C-Chain"})
	_            = declare[map[string]jsontext.Value](scrape.Method{Name: "eth_getActivePrecompilesAt", Path: evmPath, Positional: true,
		Params: []string{"timestamp?"}, Deprecated: "use eth_getActiveRulesAt"})
	getActiveRulesAt = declare[Rules](scrape.Method{Name: "eth_getActiveRulesAt", Path: evmPath, Positional: true, Params: []string{"timestamp?"},
		Lacking: "other VMs"})
	getBalance       = declare[wire.BigInt](scrape.Method{Name: "eth_getBalance", Path: evmPath, Positional: true, Params: []string{"address", "number"}})
	_                = declare[*EthBlock](scrape.Method{Name: "eth_getBlockByHash", Path: evmPath, Positional: true, Params: []string{"hash", "full"}})
	getBlockByNumber = declare[*EthBlock](scrape.Method{Name: "eth_getBlockByNumber", Path: evmPath, Positional: true, Params: []string{"number", "full"}})
	getBlockReceipts = declare[[]counted](scrape.Method{Name: "eth_getBlockReceipts", Path: evmPath, Positional: true, Params: []string{"number"},
		Lacking: "old releases", MaxBody: largeList})
	getLogs        = declare[[]counted](scrape.Method{Name: "eth_getLogs", Path: evmPath, Positional: true, Params: []string{"filter"}, MaxBody: largeList})
	getChainConfig = declare[ChainConfig](scrape.Method{Name: "eth_getChainConfig", Path: evmPath, Positional: true, Lacking: "other VMs"})

	getPoolStatus = declare[PoolStatus](scrape.Method{Name: "txpool_status", Path: evmPath, Positional: true,
		Lacking: "chains whose configuration does not enable it"})

	getCurrentEpoch = declare[Epoch](scrape.Method{Name: "proposervm.getCurrentEpoch", Path: proposerPath, Lacking: "old releases"})
	_               = declare[wire.Height](scrape.Method{Name: "proposervm.getProposedHeight", Member: "height", Path: proposerPath})

	getChainValidators = declare[distinct[ChainValidator]](scrape.Method{Name: "validators.getCurrentValidators", Member: "validators", Path: validatorsPath,
		Params: []string{"nodeIDs?"}, MaxBody: largeList})
)

// getHealth is not JSON-RPC. An unhealthy node answers with status 503 and the same body.
var getHealth = scrape.As[Health](&scrape.Method{Verb: http.MethodGet, Path: "/ext/health", AnswerStatus: http.StatusServiceUnavailable})

// call calls a method. Chain is an alias such as C or a blockchain ID; empty for a method of the node.
func call[T any](ctx context.Context, c *Client, m scrape.Typed[T], chain string, params any) (T, error) {
	return m.Call(ctx, c.Upstream, at(m.Path, chain), params)
}

// at returns a service's path with {chain} replaced.
func at(path, chain string) string {
	return strings.ReplaceAll(path, "{chain}", url.PathEscape(chain))
}

// OfChain reports whether a method needs a chain.
func OfChain(m *scrape.Method) bool { return strings.Contains(m.Path, "{chain}") }

// MayLack reports whether err means that the node or the chain does not offer a method that some do not offer. It is false for a call that
// was answered before.
func MayLack(err error) bool {
	var e *scrape.Error
	return IsNotOffered(err) && !scrape.IsLost(err) && errors.As(err, &e) &&
		slices.ContainsFunc(methods, func(m *scrape.Method) bool { return m.Name == e.Op && m.Lacking != "" })
}

// IsPathUnknown reports whether the path of a call does not exist (HTTP 404), as while a node starts or does not run the chain. It is false for a path
// of the node that existed before.
func IsPathUnknown(err error) bool {
	var e *scrape.Error
	return scrape.OutcomeOf(err) == scrape.NotFound && (!scrape.IsLost(err) || errors.As(err, &e) &&
		slices.ContainsFunc(methods, func(m *scrape.Method) bool { return m.Name == e.Op && OfChain(m) }))
}

// Call calls a method and returns the result as JSON, unchanged. Params are JSON; nil sends none. Chain is an alias or
// blockchain ID, for methods that need a chain. If the typed client cannot decode the result, the error has the outcome
// malformed. A call that changes something is sent at most once. An address without a chain, such as avax1…, is one of the called chain.
func (c *Client) Call(ctx context.Context, m *scrape.Method, chain string, params jsontext.Value) (jsontext.Value, error) {
	var sent any // nil: no parameters
	if params != nil {
		sent = jsontext.Value(withoutChain.ReplaceAll(params, []byte(`"`+cmp.Or(chain, "P")+`-$1"`)))
	}
	return m.Raw(ctx, c.Upstream, at(m.Path, chain), sent)
}

// withoutChain finds addresses of the P- and X-Chain without the chain that a node requires.
var withoutChain = regexp.MustCompile(`"([a-z]+1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{38})"`)

// RepeatAfter is scrape.Options.RepeatAfter of a node. A node that does not know a method is not asked again for an hour, unless its version,
// its upgrades or its bootstrap state change before: see nodes.Node.
func RepeatAfter(_ string, err error, _ bool) time.Duration {
	if IsNotOffered(err) {
		return time.Hour
	}
	return 0
}

// RepeatAfterObserver is scrape.Options.RepeatAfter of an endpoint that offers only some of a node's methods. The first time is
// short, because a single refusal may be wrong.
func RepeatAfterObserver(_ string, err error, _ bool) time.Duration {
	if IsNotServed(err) {
		return time.Minute
	}
	return 0
}
